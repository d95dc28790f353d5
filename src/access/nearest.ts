import { closestMatch } from 'leven';

/**
 * The candidate that `word` most likely means: at most a third of the letters differ, and half of each of its
 * parts between dashes, so that `builtin-aws` is not taken for a mistyped `builtin-gcp`.
 */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const written = word.toLowerCase();
  const meant = candidates.filter((candidate) => hasNearParts(written, candidate.toLowerCase()));
  const lowered = meant.map((candidate) => candidate.toLowerCase());
  const match = closestMatch(written, lowered, { maxDistance: Math.max(1, Math.floor(written.length / 3)) });
  return match === undefined ? undefined : meant[lowered.indexOf(match)];
}

function hasNearParts(word: string, candidate: string): boolean {
  const [parts, others] = [word.split('-'), candidate.split('-')];
  if (parts.length !== others.length) return true;
  return parts.every((part, index) => isNear(part, others[index] ?? ''));
}

function isNear(part: string, other: string): boolean {
  return (
    part === other ||
    closestMatch(part, [other], { maxDistance: Math.max(1, Math.floor(part.length / 2)) }) !== undefined
  );
}
