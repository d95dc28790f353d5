/** `explain [CODE]`: the section of docs/errors-*.md about a code, or the codes that there are. */
import { readFile } from 'node:fs/promises';
import { nearest } from '../../diagnose/index.ts';
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import type { Call } from '../verb.ts';

export async function run({ args, program, terminal }: Call): Promise<ExitCode> {
  const pages = ['docs/errors-access.md', 'docs/errors-requests.md'].map((page) =>
    readFile(packagedFile(page), 'utf8'),
  );
  const sections = sectionsOf((await Promise.all(pages)).join('\n'));
  const [given] = args;
  if (given === undefined) {
    await terminal.write(`${[...sections.keys()].join('\n')}\n`);
    return exitCodes.ok;
  }
  // As a message has it, in brackets.
  const code = given.replace(/^\[(.*)\]$/, '$1').toUpperCase();
  const section = sections.get(code);
  if (section === undefined) {
    const meant = nearest(code, [...sections.keys()]);
    const list = `${program} explain lists the codes`;
    throw Failure.notFound(`${given} is no code of this program`, meant ? `did you mean ${meant}? ${list}` : list);
  }
  await terminal.write(`${code}\n\n${section}\n`);
  return exitCodes.ok;
}

/** Of the built program: dist/chunks/program-clusterprofile/x.js. */
const packagedFile = (path: string) => new URL(`../../../${path}`, import.meta.url);

/** The text below each third heading that is a code, as it reads at a terminal. */
function sectionsOf(markdown: string): ReadonlyMap<string, string> {
  const parts = markdown.split(/^#{2,3} /m).slice(1);
  return new Map(
    parts.flatMap((part) => {
      const [, code, text] = /^([A-Z0-9_]+)\n([\s\S]*)$/.exec(part) ?? [];
      if (code === undefined || text === undefined) return [];
      const plain = text.replace(/\[([^\]]+)\]\([^)]+\)/g, '$1').replace(/\*\*([^*]+)\*\*/g, '$1');
      return [[code, plain.trim()] as const];
    }),
  );
}
