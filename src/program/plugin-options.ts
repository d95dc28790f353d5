/** What a plugin's run takes beside its call, for verbs that tell all of its failure themselves. */
import type { PluginOptions } from '../exec/plugin-call.ts';
import { parseOptions } from '../options.ts';
import { Troubles } from '../troubles.ts';
import type { Call } from './verb.ts';

/** Throws a `ConfigurationError` for options that cannot be used. */
export function silentPluginOptions({ signal }: Call, given: Parameters<typeof parseOptions>[0]): PluginOptions {
  const logger = { warn: () => {} };
  const settings = parseOptions({ ...given, logger });
  return { ...settings, troubles: new Troubles(settings), signal };
}
