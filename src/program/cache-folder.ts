import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { exitCodes } from './exit-codes.ts';
import { Failure } from './failure.ts';

/**
 * The folder for what this program keeps between calls.
 * @throws {Failure} if this user has no home: neither `HOME` nor an entry in the user database
 */
export function cacheFolder(homeOf = homedir): string {
  const { XDG_CACHE_HOME: given = '' } = process.env;
  if (isAbsolute(given)) return join(given, 'clusterprofile');
  try {
    return join(homeOf(), '.cache', 'clusterprofile');
  } catch {
    const message = 'this user has no home, and so no folder for --cache';
    throw new Failure(exitCodes.configuration, message, 'name one in XDG_CACHE_HOME, or leave --cache out');
  }
}
