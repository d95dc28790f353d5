/** Why a plugin could not be started, by the operating system's code: some are problems of this machine that may clear up by themselves. */
import type { PluginErrorCode } from '../errors/index.ts';

export interface StartProblem {
  readonly code: PluginErrorCode;
  /** What it is, and what to do. */
  readonly reason: string;
}

const descriptors = 'raise its limit of open files (ulimit -n), and see what holds so many';
const memory = 'see the limits of memory here';

/** Transient: the next run of the same plugin may succeed. */
const passing: Readonly<Record<string, string>> = {
  EMFILE: `this process has no free descriptors: ${descriptors}`,
  ENFILE: `this machine has no free descriptors: ${descriptors}`,
  EAGAIN: 'this machine starts no more processes now: raise the limit of processes (ulimit -u, pids.max)',
  ENOMEM: `there is no memory for another process: ${memory}`,
  ENOBUFS: `there is no memory for another process: ${memory}`,
  ETXTBSY: 'its file is being written: write a new one beside it, and rename it into place',
};

const lasting: Readonly<Record<string, StartProblem>> = {
  E2BIG: {
    code: 'PLUGIN_INPUT_TOO_LARGE',
    reason: 'its arguments and environment together are more than the kernel takes: shorten them',
  },
  ENOENT: { code: 'PLUGIN_NOT_EXECUTABLE', reason: 'its interpreter (the first line after #!) is missing' },
  ENOEXEC: {
    code: 'PLUGIN_NOT_EXECUTABLE',
    reason: 'is no program that this machine can run: see its first line (#!), and for which machine it was built',
  },
  EACCES: {
    code: 'PLUGIN_NOT_EXECUTABLE',
    reason: 'may not be executed here: see its mode, its interpreter, and whether its file system is mounted noexec',
  },
};

/** Of an error of the process itself, which the system could not start. */
export function startProblem(errno: string): StartProblem {
  const known = Object.hasOwn(lasting, errno) ? lasting[errno] : undefined;
  return known ? { code: known.code, reason: `${known.reason} (${errno})` } : machineProblem(errno);
}

/** Of an error before that: in the plugin's folders, or in this process. */
export function machineProblem(errno: string): StartProblem {
  return isPassing(errno)
    ? { code: 'PLUGIN_NOT_STARTED', reason: `could not be started: ${passing[errno]} (${errno})` }
    : { code: 'PLUGIN_NOT_EXECUTABLE', reason: `could not be started (${errno})` };
}

/** Whether a machine's code says nothing of the plugin. */
export function isPassing(errno: string): boolean {
  return Object.hasOwn(passing, errno);
}
