const pattern = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** `0001-01-01T00:00:00Z`, Go's zero time: an expiry that means "never". */
export const zeroTime = -62_135_596_800_000;

/**
 * Reads an RFC 3339 time with a zone into milliseconds since 1970; `undefined` for anything else.
 * `Date.parse` is no help: it takes dates without a zone, February 30 and more, which Go refuses.
 */
export function parseRfc3339(text: string): number | undefined {
  const match = pattern.exec(text);
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const [zoneHour = 0, zoneMinute = 0] = match.slice(9, 11).map((part) => Number(part ?? 0));
  if (hour > 23 || minute > 59 || second > 59 || zoneHour > 24 || zoneMinute > 60) return undefined;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that the month does not have has rolled over into another one.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  date.setUTCHours(hour, minute, second, Number((match[7] ?? '').slice(0, 3).padEnd(3, '0')));
  const offset = (zoneHour * 60 + zoneMinute) * 60_000;
  return date.getTime() - (match[8] === '-' ? -offset : offset);
}

/** A time in whole seconds, as Kubernetes writes times: `2030-01-02T03:04:05Z`. */
export function toRfc3339(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}
