/** Which file a plugin's command means, whether it may be run, and running it. */
import { errnoOf } from '../errno.ts';
import type { PluginError } from '../errors.ts';
import { redact } from '../redaction/redact.ts';
import { type ExecutableProblem, findExecutable } from './executable.ts';
import { PinnedFile } from './pinned-file.ts';
import { failure, fieldsOf, lineOf, type PluginCall, type PluginOptions } from './plugin-call.ts';
import { pluginFileProblem } from './plugin-file.ts';
import { permissionFor } from './plugin-policy.ts';
import { type Ended, type ProcessOptions, runProcess } from './process.ts';
import { isPassing } from './start-problem.ts';

/** Runs the plugin's executable. Rejects with a `PluginError` where it may not be run, or is not there. */
export async function runExecutable(
  call: PluginCall,
  settings: ProcessOptions,
  options: PluginOptions,
): Promise<Ended> {
  const { command } = call.exec;
  const searchPath = process.env.PATH ?? '';
  const permission = await permissionFor(options.pluginPolicy, command, searchPath);
  if ('refusal' in permission) throw failure(call, 'PLUGIN_NOT_ALLOWED', `may not be run: ${permission.refusal}`);
  const executable = await findExecutable(command, searchPath);
  if ('problem' in executable) throw cannotRun(call, executable.problem, executable.path);
  await checkFile(call, executable.path, options);
  return permission.digests
    ? runPinned(call, executable.path, permission.digests, settings)
    : runProcess(executable.path, settings);
}

/** Runs a file that has one of these digests. What is executed is what was hashed, where the system lets us. */
async function runPinned(
  call: PluginCall,
  path: string,
  digests: readonly string[],
  settings: ProcessOptions,
): Promise<Ended> {
  const refused = (why: string) => failure(call, 'PLUGIN_NOT_ALLOWED', why);
  const file = await PinnedFile.open(path).catch((error: unknown) => {
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
    const ended = await runProcess(path, { ...settings, descriptor: file.descriptor });
    if (!(await file.isUnchanged())) throw refused('was changed while it ran: its answer is not used');
    return ended;
  } finally {
    await file.close();
  }
}

async function checkFile(
  call: PluginCall,
  path: string,
  { strictPluginFiles, troubles }: PluginOptions,
): Promise<void> {
  const problem = await pluginFileProblem(path);
  const file = { name: lineOf(call, undefined, path), fields: fieldsOf(call, undefined) };
  const why = `could be replaced by somebody else: ${problem}`;
  if (problem && strictPluginFiles) {
    const advice = 'let only root and the user of this process write there, or mount it read-only';
    throw failure(call, 'PLUGIN_FILE_UNSAFE', `${why}; ${advice}`);
  }
  const message = lineOf(call, undefined, `${why}; strictPluginFiles refuses it`);
  troubles.set(file, 'plugin file', problem ? [{ code: problem, message }] : []);
}

const executableAdvice = {
  'a directory': 'name a file',
  'not executable': 'make it executable (chmod +x) for the user of this process',
  'out of reach': 'let the user of this process enter its folders (chmod +x)',
};

function cannotRun(call: PluginCall, problem: ExecutableProblem, path: string): PluginError {
  if (problem !== 'missing') {
    return failure(call, 'PLUGIN_NOT_EXECUTABLE', `${path} is ${problem}: ${executableAdvice[problem]}`);
  }
  const where = call.exec.command.includes('/') ? 'there is no such file' : 'it is in no folder of PATH';
  const installHint = redact(call.exec.installHint ?? '');
  const reason = `was not found (${where}): install it, or correct execConfig.command`;
  return failure(call, 'PLUGIN_NOT_FOUND', reason, { installHint });
}
