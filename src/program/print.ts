/** What a verb prints: a table, names, JSON or YAML, by `-o`. */
import { Document, isScalar, visit } from 'yaml';
import type { Call } from './verb.ts';

/** JSON or YAML, where `-o` asks for it, else nothing. */
export async function printData({ options, terminal }: Call, data: () => object): Promise<boolean> {
  const format = options.text('output');
  if (format === 'json') await terminal.write(`${jsonText(data(), 2)}\n`);
  else if (format === 'yaml') await terminal.write(yamlText(data()));
  else return false;
  return true;
}

/** What a terminal acts on, and JSON and YAML leave as it is: codes of the second set, directions of writing, line ends. */
const active = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON with such characters as `\u202e`: the same data, and nothing that a terminal acts on. */
export function jsonText(data: object, indent?: number): string {
  return JSON.stringify(data, null, indent).replace(active, escaped);
}

function yamlText(data: object): string {
  const document = new Document(data, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      // Only quoted texts have escapes.
      if (isScalar(node) && typeof node.value === 'string' && node.value.search(active) >= 0)
        node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replace(active, escaped);
}

/** Both halves of a character of more than 16 bits. */
function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, index) => character.charCodeAt(index));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('');
}
