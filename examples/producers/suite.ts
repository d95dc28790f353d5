// A test suite for consumers of ClusterProfiles: profiles as producers write them, and the expected result for each.
//
//   node examples/producers/suite.ts [FOLDER]...   the folders beside this file, or your own in the same form
//
// Each folder has profiles.yaml, and expected.yaml with the provider file that is used and what is expected of each profile: the
// access that it resolves to, or the code, the path and some words of the error.
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type ClusterProfile, CredentialProviders, ProfileError } from 'clusterprofile-credentials';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';

const reached = z.strictObject({
  provider: z.string(),
  server: z.string(),
  /** Whether the profile has a certificate authority. */
  hasAuthority: z.boolean(),
  /** The plugin's arguments. */
  args: z.array(z.string()),
  /** What the plugin gets as `spec.cluster.config`. */
  config: z.unknown().optional(),
});
const refused = z.strictObject({ code: z.string(), path: z.string(), says: z.string() });
const expectedSchema = z.strictObject({
  providerFile: z.string(),
  profiles: z.record(z.string(), z.union([refused, reached])),
});
const named = z.object({ metadata: z.object({ namespace: z.string(), name: z.string() }) });

/** A profile of a folder, and how to check it. */
export interface Case {
  /** `folder: namespace/name`. */
  readonly name: string;
  /** Throws an `AssertionError` if the result is not the expected one. */
  check(): void;
}

/** The folders beside this file. */
export function shapes(): readonly string[] {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const entries = readdirSync(folder, { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(folder, name));
}

/** The profiles of a folder. Throws if a file cannot be used, or if only one of the two files has a profile. */
export function casesOf(folder: string): readonly Case[] {
  const expected = expectedSchema.parse(parse(readFileSync(join(folder, 'expected.yaml'), 'utf8')));
  const documents = parseAllDocuments(readFileSync(join(folder, 'profiles.yaml'), 'utf8'));
  const profiles = documents.map((document): ClusterProfile => document.toJS());
  const names = profiles.map((profile) => {
    const { metadata } = named.parse(profile);
    return `${metadata.namespace}/${metadata.name}`;
  });
  assert.deepEqual(
    names.toSorted(),
    Object.keys(expected.profiles).toSorted(),
    `${folder}: the profiles of both files`,
  );
  return profiles.map((profile, index) => {
    const name = names[index] ?? '';
    const check = () => {
      assert.deepEqual(
        outcome(profile, resolve(folder, expected.providerFile), expected.profiles[name]),
        expected.profiles[name],
      );
    };
    return { name: `${basename(folder)}: ${name}`, check };
  });
}

/** The result for a profile. If an error's message has the expected words, they stand for the whole message. */
function outcome(profile: ClusterProfile, providerFile: string, expected: object | undefined): object {
  const providers = CredentialProviders.fromFile(providerFile);
  try {
    const { provider, cluster, exec } = providers.resolve(profile);
    return {
      provider,
      server: cluster.server,
      hasAuthority: cluster.certificateAuthorityData !== undefined,
      args: exec.args,
      ...(exec.provideClusterInfo && exec.config !== undefined ? { config: exec.config } : {}),
    };
  } catch (error) {
    if (!(error instanceof ProfileError)) throw error;
    const { code, path, message } = error;
    const says = expected && 'says' in expected ? String(expected.says) : '';
    return { code, path, says: message.includes(says) ? says : message };
  } finally {
    void providers.close();
  }
}

if (import.meta.main) {
  const folders = process.argv.length > 2 ? process.argv.slice(2).map((folder) => resolve(folder)) : shapes();
  for (const { name, check } of folders.flatMap(casesOf)) {
    try {
      check();
      console.log(`ok      ${name}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`not ok  ${name}\n${error instanceof Error ? error.message : String(error)}`);
    }
  }
}
