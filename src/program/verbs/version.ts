/** `version`: what a bug report needs. */
import { readFileSync } from 'node:fs';
import { type ExitCode, exitCodes } from '../failure.ts';
import { print } from '../table.ts';
import type { Call } from '../verb.ts';

export async function run(call: Call): Promise<ExitCode> {
  const versions = {
    clusterprofile: version(),
    node: process.versions.node,
    platform: process.platform,
    arch: process.arch,
  };
  const { clusterprofile, node, platform, arch } = versions;
  await print(call, versions, () => `clusterprofile ${clusterprofile}\nNode ${node}, ${platform} ${arch}\n`);
  return exitCodes.ok;
}

export function version(): string {
  // Of the built program: dist/chunks/program-clusterprofile/x.js.
  const text = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { version }: { version: string } = JSON.parse(text);
  return version;
}
