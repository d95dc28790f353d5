import { closestMatch } from 'leven';

/** The candidate that somebody who wrote `word` most likely meant: at most a third of the letters differ. */
export function nearest(word: string, candidates: readonly string[]): string | undefined {
  const lowered = candidates.map((candidate) => candidate.toLowerCase());
  const maxDistance = Math.max(1, Math.floor(word.length / 3));
  const match = closestMatch(word.toLowerCase(), lowered, { maxDistance });
  return match === undefined ? undefined : candidates[lowered.indexOf(match)];
}
