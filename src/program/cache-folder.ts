import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';

/** The folder for what this program keeps between calls. Throws where this user has no home. */
export function cacheFolder(): string {
  const { XDG_CACHE_HOME: given = '' } = process.env;
  return join(isAbsolute(given) ? given : join(homedir(), '.cache'), 'clusterprofile');
}
