import { readFileSync } from 'node:fs';

/** The version of the package. */
export function version(): string {
  // Of the built program: dist/chunks/program-clusterprofile/x.js.
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
