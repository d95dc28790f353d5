/** Finds the file of a plugin's command, checks whether it may be run, and runs it. */

import type { PluginError } from '../errors/index.ts';
import { redact } from '../redaction/redact.ts';
import { errnoOf } from '../util/errno.ts';
import { type ExecutableProblem, findExecutable } from './executable.ts';
import { openPinnedFile } from './pinned-file.ts';
import { failure, fieldsOf, lineOf, type Plugin, type PluginOptions, stoppedReason } from './plugin-call.ts';
import { pluginFileProblem } from './plugin-file.ts';
import { permissionFor } from './plugin-policy.ts';
import { type Ended, type ProcessOptions, runProcess } from './process.ts';
import { isPassing } from './start-problem.ts';

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
  if (stop.aborted) throw failure(plugin, 'PLUGIN_STOPPED', stoppedReason);
  const searchPath = process.env.PATH ?? '';
  const permission = await permissionFor(options.pluginPolicy, command, searchPath);
  if ('refusal' in permission) throw failure(plugin, 'PLUGIN_NOT_ALLOWED', `may not be run: ${permission.refusal}`);
  const executable = await findExecutable(command, searchPath);
  if ('problem' in executable) throw cannotRun(plugin, executable.problem, executable.path);
  await checkFile(plugin, executable.path, options);
  const ended = permission.digests
    ? await runPinned(plugin, executable.path, permission.digests, settings)
    : await runProcess(executable.path, settings);
  if (stop.aborted) throw failure(plugin, 'PLUGIN_STOPPED', stoppedReason);
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
    if (isPassing(errno)) throw error;
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
  const where = plugin.exec.command.includes('/') ? 'there is no such file' : 'it is in no folder of PATH';
  const installHint = redact(plugin.exec.installHint ?? '');
  const reason = `was not found (${where}): install it, or correct its command`;
  return failure(plugin, 'PLUGIN_NOT_FOUND', reason, { installHint });
}
