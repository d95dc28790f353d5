/**
 * The table of verbs. To add one:
 *
 * 1. Define it in `definitions/`, and name it here: what it is called, what it takes, two or three examples. `verb.ts` has
 *    options that others have. Nothing that takes time to load is imported there: `load` imports the verb's own file when it is called.
 * 2. Write `verbs/NAME.ts`, which exports `run(call)`. It gets what was given as `call.args`, `call.options` and `call.command`,
 *    reads profiles with `profilesOf(call)` and providers with `providersOf(call)`, writes to `call.terminal`, ends when
 *    `call.signal` aborts, and returns an exit code of `failure.ts`.
 * 3. What cannot be done throws a `Failure` (message, hint, exit code) or an error of the library: `main.ts` prints it, once.
 * 4. Test it as a process, with `runProgram` of test/fixtures/program.ts; write its chapter in docs/command-line.md.
 */
import { check, exec, get, resolve, shards } from './definitions/clusters.ts';
import { credential, kubeconfig, publish } from './definitions/kubeconfigs.ts';
import { completion, explain, lint, runPlugin, version } from './definitions/others.ts';
import type { Verb } from './verb.ts';

/** In the order of the help. */
export const verbs: readonly Verb[] = [
  get,
  check,
  resolve,
  lint,
  runPlugin,
  kubeconfig,
  credential,
  exec,
  publish,
  shards,
  explain,
  version,
  completion,
];
