/** The options of a plugin's run for verbs that report its failure themselves. */
import type { PluginOptions } from '../exec/plugin-call.ts';
import { WarningLimiter } from '../observability/warning-limiter.ts';
import { parseOptions } from '../options/options.ts';
import type { Call } from './verb.ts';

/** Throws a `ConfigurationError` for options that cannot be used. */
export function silentPluginOptions({ signal }: Call, given: Parameters<typeof parseOptions>[0]): PluginOptions {
  const logger = { warn: () => {} };
  const settings = parseOptions({ ...given, logger });
  return { ...settings, warnings: new WarningLimiter(settings), signal };
}
