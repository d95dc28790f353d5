/** Which file of a plugin's command may be run, checked before every run, and its run. */
import { isAbsolute, normalize } from 'node:path';
import type { PluginPolicy } from '../access/plugin-policy.ts';
import type { PluginError } from '../errors/index.ts';
import { redact } from '../redaction/known-secrets.ts';
import { errnoOf } from '../util/guards.ts';
import { type ExecutableProblem, findExecutable, openPinnedFile, pluginFileProblem } from './executable.ts';
import { fieldsOf, lineOf, type Plugin, type PluginOptions } from './plugin-call.ts';
import { failure, isTransient } from './plugin-outcome.ts';
import { type Ended, type ProcessOptions, runProcess } from './process.ts';

/**
 * Runs the plugin's executable to its end. Rejects with a `PluginError` if it may not be run or does not exist, and if it was stopped.
 */
export async function runExecutable(
  plugin: Plugin,
  settings: ProcessOptions,
  options: Pick<PluginOptions, 'pluginPolicy' | 'strictPluginFiles' | 'warnings'>,
): Promise<Ended> {
  const { command } = plugin.exec;
  const { stop } = settings;
  stop.throwIfAborted();
  const searchPath = process.env.PATH ?? '';
  const permission = await permissionFor(options.pluginPolicy, command, searchPath);
  if ('refusal' in permission) throw failure(plugin, 'PLUGIN_NOT_ALLOWED', `may not be run: ${permission.refusal}`);
  const executable = await findExecutable(command, searchPath);
  if ('problem' in executable) throw cannotRun(plugin, executable.problem, executable.path);
  await checkFile(plugin, executable.path, options);
  const ended = permission.digests
    ? await runPinned(plugin, executable.path, permission.digests, settings)
    : await runProcess(executable.path, settings);
  stop.throwIfAborted();
  return ended;
}

/** Runs the file if it has one of these digests. */
async function runPinned(
  plugin: Plugin,
  path: string,
  digests: readonly string[],
  settings: ProcessOptions,
): Promise<Ended> {
  const refused = (why: string) => failure(plugin, 'PLUGIN_NOT_ALLOWED', why);
  const file = await openPinnedFile(path).catch((error: unknown) => {
    const errno = errnoOf(error);
    if (isTransient(errno)) throw error;
    throw refused(`may not be run: ${path} cannot be read, so its SHA-256 cannot be compared (${errno})`);
  });
  try {
    if (!digests.includes(file.sha256)) {
      const advice = 'if it was upgraded on purpose, pin the new one, beside the old one for a while';
      const pinned = `the plugin allowlist pins it to ${digests.join(' or ')}`;
      throw refused(`may not be run: the SHA-256 of ${path} is ${file.sha256}, and ${pinned}: ${advice}`);
    }
    return await runProcess(path, { ...settings, descriptor: file.descriptor });
  } finally {
    await file.close();
  }
}

async function checkFile(
  plugin: Plugin,
  path: string,
  { strictPluginFiles, warnings }: Pick<PluginOptions, 'strictPluginFiles' | 'warnings'>,
): Promise<void> {
  const problem = await pluginFileProblem(path);
  const file = { name: lineOf(plugin, undefined, path), fields: fieldsOf(plugin, undefined) };
  const why = `can be replaced by another user: ${problem}`;
  if (problem && strictPluginFiles) {
    const advice = 'let only root and the user of this process write there, or mount it read-only';
    throw failure(plugin, 'PLUGIN_FILE_UNSAFE', `${why}; ${advice}`);
  }
  const message = lineOf(plugin, undefined, `${why}; strictPluginFiles refuses it`);
  warnings.set(file, 'plugin file', problem ? [{ code: 'PLUGIN_FILE_UNSAFE', key: problem, message }] : []);
}

const executableAdvice = {
  'a directory': 'name a file',
  'not executable': 'make it executable (chmod +x) for the user of this process',
  'out of reach': 'let the user of this process enter its folders (chmod +x)',
};

function cannotRun(plugin: Plugin, problem: ExecutableProblem, path: string): PluginError {
  if (problem !== 'missing') {
    return failure(plugin, 'PLUGIN_NOT_EXECUTABLE', `${path} is ${problem}: ${executableAdvice[problem]}`);
  }
  const { command } = plugin.exec;
  const where = command.startsWith('~')
    ? '~ is not expanded: write the whole path'
    : command.includes('/')
      ? 'there is no such file'
      : 'it is in no folder of PATH';
  const installHint = redact(plugin.exec.installHint ?? '');
  const reason = `was not found (${where}): install it, or correct its command`;
  return failure(plugin, 'PLUGIN_NOT_FOUND', reason, { installHint });
}

/** Whether a command may be run, and as which file: `digests` are the SHA-256 that it may have, `undefined` any. */
export type Permission = { readonly refusal: string } | { readonly digests: readonly string[] | undefined };

/** Applies the policy to a command (KEP-3104). As in client-go, the path that is found is compared. */
export async function permissionFor(
  { policyType, allowlist = [] }: PluginPolicy,
  command: string,
  searchPath: string,
): Promise<Permission> {
  if (policyType === 'AllowAll') return { digests: undefined };
  if (policyType === 'DenyAll')
    return { refusal: 'the plugin policy is DenyAll: allow it with pluginPolicy (--clusterprofile-plugin-policy)' };
  const refusal = `it is not in the plugin allowlist (${allowlist.map((entry) => entry.command).join(', ')})`;
  const isPath = command.includes('/');
  // A path that is relative to the working directory could be any file.
  if (isPath && !isAbsolute(command)) return { refusal };
  const locate = async (name: string) =>
    isAbsolute(name) ? normalize(name) : (await findExecutable(name, searchPath)).path;
  const path = await locate(command);
  const paths = await Promise.all(allowlist.map((entry) => locate(entry.command)));
  const entries = allowlist.filter((_, index) => paths[index] === path);
  if (entries.length === 0) return { refusal };
  const digests = entries.flatMap(({ sha256 }) => (sha256 === undefined ? [] : [sha256.toLowerCase()]));
  return { digests: digests.length === 0 ? undefined : digests };
}
