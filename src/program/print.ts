/** Prints the result of a verb as JSON or YAML, by `-o`. */
import { Document, visit } from 'yaml';
import type { Call } from './verb.ts';

/** JSON or YAML, if `-o` asks for it, else nothing. */
export async function printData({ options, terminal }: Call, data: () => object): Promise<boolean> {
  const format = options.text('output');
  if (format === 'json') await terminal.write(`${jsonText(data(), 2)}\n`);
  else if (format === 'yaml') await terminal.write(yamlText(data()));
  else return false;
  return true;
}

/** Characters that a terminal acts on and that JSON and YAML do not escape: C1 controls, directions of writing, line ends. */
const active = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** JSON with such characters as `\u202e`: the same data, and nothing that a terminal acts on. */
export function jsonText(data: object, indent?: number): string {
  // Both halves of a character of more than 16 bits.
  return JSON.stringify(data, null, indent).replace(active, (character) => character.split('').map(escaped).join(''));
}

/** YAML with such characters between double quotes, since no other form has escapes. Not every parser joins halves of characters. */
function yamlText(data: object): string {
  const document = new Document(data, { aliasDuplicateObjects: false });
  visit(document, {
    Scalar: (_key, node) => {
      if (typeof node.value === 'string' && node.value.search(active) >= 0) node.type = 'QUOTE_DOUBLE';
    },
  });
  return document.toString({ lineWidth: 0 }).replace(active, (character) => {
    const code = (character.codePointAt(0) ?? 0).toString(16);
    return character.length > 1 ? `\\U${code.padStart(8, '0')}` : escaped(character);
  });
}

/** A character of 16 bits. */
function escaped(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
