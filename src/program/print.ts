/** What a verb prints: a table, names, JSON or YAML, by `-o`. */
import { stringify } from 'yaml';
import type { Call } from './verb.ts';

/** JSON or YAML, where `-o` asks for it, else nothing. */
export async function printData({ options, terminal }: Call, data: () => object): Promise<boolean> {
  const format = options.text('output');
  if (format === 'json') await terminal.write(`${JSON.stringify(data(), null, 2)}\n`);
  else if (format === 'yaml') await terminal.write(stringify(data(), { lineWidth: 0, aliasDuplicateObjects: false }));
  else return false;
  return true;
}
