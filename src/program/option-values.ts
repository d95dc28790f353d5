/** Values of options that are not text. */
import { longestMs, parseDuration } from '../access/duration.ts';
import { exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';

/** In milliseconds. Throws a `Failure`. */
export function durationOf(option: string, text: string): number {
  const ms = parseDuration(text);
  if (ms !== undefined && ms >= 1 && ms <= longestMs) return ms;
  throw new Failure(exitCodes.usage, `${option} ${text}: must be a duration such as 30s or 1m30s`);
}

/** Throws a `Failure`. */
export function numberOf(option: string, text: string): number {
  const number = Number(text);
  if (/^\d+$/.test(text) && Number.isSafeInteger(number) && number > 0) return number;
  throw new Failure(exitCodes.usage, `${option} ${text}: must be a whole number of 1 or more`);
}
