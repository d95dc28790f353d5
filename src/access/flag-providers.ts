/** Turns flags into providers, by way of drafts in the shape of the provider file. Pure; reports every problem. */
import { parseDocument } from 'yaml';
import type { Problem } from '../errors/index.ts';
import { type ConfiguredProvider, providerFieldPaths, providerProblems, providersSchema } from './provider-schema.ts';
import { suggestion } from './schema-problems.ts';

/** A provider that is being built from flags: its values, by the paths of their fields in the provider file. */
type Draft = Map<string, unknown>;
/** By access type. */
type Drafts = ReadonlyMap<string, Draft>;

/** A flag as shown in messages: the access type and the field, without the value, which may contain a secret. */
function shownFlag(name: string, before: string | undefined): string {
  return before === undefined ? `--${name}` : `--${name} ${JSON.stringify(`${before}=...`)}`;
}

/** `--clusterprofile-access-provider`: a draft for each access type. */
export function readProviders(given: readonly string[], problems: Problem[]): Drafts {
  const drafts = new Map<string, Draft>();
  for (const value of given) {
    const message = addDraft(value, drafts);
    const path = shownFlag('clusterprofile-access-provider', /^([^=]*)=/.exec(value)?.[1]);
    if (message !== undefined) problems.push({ path, message });
  }
  return drafts;
}

/** Returns what is wrong with the value, if anything. */
function addDraft(value: string, drafts: Map<string, Draft>): string | undefined {
  const [, before, commandLine = ''] = /^([^=]*)=(.*)$/s.exec(value) ?? [];
  if (before === undefined) return 'has no "=": write the access type, "=", then the command';
  const name = before.trim();
  if (name === '') return 'has no access type before the "="';
  if (drafts.has(name)) return `the access type "${name}" is configured twice: give each type once`;
  const split = splitWords(unwrapQuotes(commandLine.trim()));
  if ('unclosed' in split) return `the quote ${split.unclosed} is never closed`;
  const [command, ...args] = split.words;
  if (!command) return `has no command after "${name}=": name the plugin's executable`;
  if (value.includes('\0')) return 'holds a NUL character, which no process can be given';
  drafts.set(name, new Map<string, unknown>().set('execConfig.command', command).set('execConfig.args', args));
  return undefined;
}

/** `--clusterprofile-access-provider-option`: fields of the drafts. */
export function readOptions(given: readonly string[], drafts: Drafts, problems: Problem[]): void {
  for (const value of given) {
    const message = setField(value, drafts);
    const path = shownFlag('clusterprofile-access-provider-option', /^([^=]*(?:=[^=]*)?)=/.exec(value)?.[1]);
    if (message !== undefined) problems.push({ path, message });
  }
}

function setField(value: string, drafts: Drafts): string | undefined {
  const [, name = '', field, text = ''] = /^([^=]*)=([^=]*)=(.*)$/s.exec(value) ?? [];
  if (field === undefined) return 'must be the access type, "=", a field of the provider file, "=", its value';
  const draft = drafts.get(name.trim());
  if (!draft) return unknownType(name.trim(), drafts);
  if (['name', 'execConfig.command', 'execConfig.args'].includes(field)) {
    return `"${field}" is already said by --clusterprofile-access-provider: change it there`;
  }
  if (!providerFieldPaths.includes(field)) {
    return `"${field}" is not a field of a provider${suggestion(field, providerFieldPaths)}`;
  }
  if (draft.has(field)) return `"${field}" of ${name} is set twice`;
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'silent' });
  if (document.errors.length > 0) return `the value of "${field}" is not YAML`;
  draft.set(field, document.toJS());
  return undefined;
}

/** A flag that sets a policy: its field in the provider file, and its values. */
interface PolicyFlag {
  readonly name: string;
  readonly field: 'profileSourcedCLIArgsPolicy' | 'profileSourcedEnvVarsPolicy';
  readonly policies: readonly string[];
}

/** Sets a policy for one access type, or without a type for every draft that has none. */
export function readPolicies(
  given: readonly string[],
  { name: flagName, field, policies }: PolicyFlag,
  drafts: Drafts,
  problems: Problem[],
): void {
  let bare: string | undefined;
  for (const value of given) {
    const flag = `--${flagName} ${JSON.stringify(value)}`;
    const problem = (message: string) => problems.push({ path: flag, message });
    const equals = value.indexOf('=');
    const policy = value.slice(equals + 1).trim();
    if (!policies.includes(policy)) {
      problem(`"${policy}" is not a policy: write ${policies.join(' or ')}${suggestion(policy, policies)}`);
      continue;
    }
    if (equals < 0) {
      if (bare !== undefined) problem('a policy for every provider is given twice');
      else if (drafts.size === 0) problem('no flag configures a provider that it could apply to');
      bare = policy;
      continue;
    }
    const name = value.slice(0, equals).trim();
    const draft = drafts.get(name);
    if (!draft) problem(name === '' ? 'has no access type before the "="' : unknownType(name, drafts));
    else if (draft.has(field)) problem(`the policy of "${name}" is set twice`);
    else draft.set(field, policy);
  }
  if (bare === undefined) return;
  for (const draft of drafts.values()) if (!draft.has(field)) draft.set(field, bare);
}

function unknownType(name: string, drafts: Drafts): string {
  const names = [...drafts.keys()];
  const known = names.length === 0 ? 'no flag configures any type' : `flags configure ${names.join(', ')}`;
  return `"${name}" is configured by no --clusterprofile-access-provider${suggestion(name, names, `: ${known}`)}`;
}

/** A draft in the shape of the provider file, with the defaults of a flag-configured provider. */
function shape(name: string, draft: Draft): object {
  const entry: Record<string, unknown> = { name };
  const execConfig: Record<string, unknown> = {
    apiVersion: 'client.authentication.k8s.io/v1',
    provideClusterInfo: true,
    interactiveMode: 'Never',
  };
  for (const [field, value] of draft) {
    const key = field.replace(/^execConfig\./, '');
    (key === field ? entry : execConfig)[key] = value;
  }
  return { ...entry, execConfig };
}

/** Returns the provider of a draft, or `undefined` after reporting its problems. */
export function finish(name: string, draft: Draft, problems: Problem[]): ConfiguredProvider | undefined {
  const { data, error } = providersSchema.safeParse({ providers: [shape(name, draft)] });
  if (!data) {
    for (const { path, message } of providerProblems(error)) {
      const field = path.replace(/^providers\[0\]\./, '');
      const option = [...draft.keys()].find((key) => field.startsWith(key)) ?? field;
      const flag = shownFlag('clusterprofile-access-provider-option', `${name}=${option}`);
      problems.push({ path: flag, message: `${field} ${message}` });
    }
    return undefined;
  }
  const [provider] = data.providers;
  if (!provider || draft.has('execConfig.apiVersion')) return provider;
  // The KEP's example plugin always answers in v1beta1. Both versions have the same fields.
  const acceptedVersions = ['client.authentication.k8s.io/v1', 'client.authentication.k8s.io/v1beta1'] as const;
  return { ...provider, acceptedVersions };
}

/** A quoted text: as it is in single quotes, with escapes in double quotes. */
const quoted = String.raw`'([^']*)'|"((?:[^"\\]|\\.)*)"`;
const allQuoted = new RegExp(`^(?:${quoted})$`, 's');
const pieces = new RegExp(String.raw`([ \t\n]+)|${quoted}|\\(.)|(.)`, 'gs');

/** The content of double quotes. */
function unescaped(text: string): string {
  return text.replace(/\\([$`"\\\n])/g, (_, character: string) => (character === '\n' ? '' : character));
}

/**
 * Splits a command line into words as a POSIX shell does (single quotes, double quotes, backslash) and expands nothing:
 * `$HOME`, `*`, `;`, `|`, `#`, `~` and `&` are ordinary characters.
 * Returns `{ unclosed }` with the quote if one is not closed.
 */
function splitWords(text: string): { readonly words: readonly string[] } | { readonly unclosed: string } {
  const words: string[] = [];
  let word: string | undefined;
  for (const [, blanks, single, double, escaped, other] of text.matchAll(pieces)) {
    if (other === "'" || other === '"') return { unclosed: other };
    if (blanks !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else if (escaped !== '\n') {
      // Else a backslash before a line's end joins the two lines.
      word = (word ?? '') + (single ?? escaped ?? other ?? unescaped(double ?? ''));
    }
  }
  if (word !== undefined) words.push(word);
  return { words };
}

/**
 * Removes one pair of quotes that encloses the whole text. A shell strips the quotes of `google='/usr/bin/plugin --x'`, the `args` of a
 * Deployment do not: both forms have to mean the same.
 */
function unwrapQuotes(text: string): string {
  const [, single, double] = allQuoted.exec(text) ?? [];
  return single ?? (double === undefined ? text : unescaped(double));
}
