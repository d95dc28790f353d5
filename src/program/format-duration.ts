/** `59 s`, `15 min`, `7 h`, `364 d`: rounded down, in the largest unit of which there are two. */
export function formatDuration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const;
  const [unit, size] = units.find(([, one]) => ms >= 2 * one) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`;
}
