/** Finds and reads the files of a configuration, and the executables that it names, as a kubelet does when it starts. */
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { type ImageProvider, parseImageConfig } from './config.ts';

/** Folder of plugins, files, validation, executables: in this order. Throws a `ConfigurationError`. */
export function readConfig(
  path: string,
  binDir: string,
): { readonly providers: readonly ImageProvider[]; readonly folder: string } {
  if (typeof binDir !== 'string' || binDir === '') {
    throw new ConfigurationError('OPTION_INVALID', 'options', [
      { path: 'binDir', message: 'must be the path of the folder of plugins' },
    ]);
  }
  // A bare name would be looked for in PATH.
  const folder = resolve(binDir);
  const binStats = tryTo(() => statSync(folder));
  if ('problem' in binStats) throw invalid(`folder of plugins ${folder}`, [binStats.problem]);
  if (!binStats.result.isDirectory()) throw invalid(`folder of plugins ${folder}`, ['is no folder']);
  const names = new Set<string>();
  const problems: ConfigurationError[] = [];
  const providers = readFiles(path).flatMap(({ file, bytes }) => {
    try {
      return parseImageConfig(bytes.toString('utf8'), file, names);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(error);
      return [];
    }
  });
  const [first, second] = problems;
  const all = problems.map(({ message }) => message);
  if (first) throw second ? invalid(`folder ${path}`, all) : first;
  const missing = providers.flatMap(({ name }): readonly Problem[] => {
    const message = executableProblem(join(folder, name));
    return message ? [{ path: `provider ${name}`, message: `${join(folder, name)} ${message}` }] : [];
  });
  if (missing.length > 0) throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder of plugins ${folder}`, missing);
  return { providers, folder };
}

interface ConfigFile {
  readonly file: string;
  readonly bytes: Buffer;
}

/** The file, or the files of the folder. All files that cannot be read are reported at once. */
function readFiles(path: string): readonly ConfigFile[] {
  const where = `image credential provider config ${path}`;
  const stats = tryTo(() => statSync(path));
  if ('problem' in stats) throw invalid(where, [stats.problem]);
  const files = stats.result.isDirectory() ? filesOf(path) : [path];
  const read = files.map((file) => ({ file, bytes: tryTo(() => readFileSync(file)) }));
  const unread = read.flatMap(({ file, bytes }) => ('problem' in bytes ? [`${file} ${bytes.problem}`] : []));
  if (unread.length > 0) throw invalid(where, unread);
  return read.flatMap(({ file, bytes }) => ('problem' in bytes ? [] : [{ file, bytes: bytes.result }]));
}

/** The files that a kubelet reads, in the order of their paths' bytes. Folders are ignored, whatever their name. */
function filesOf(folder: string): readonly string[] {
  const listed = tryTo(() => readdirSync(folder));
  if ('problem' in listed) throw invalid(`folder ${folder}`, [listed.problem]);
  const candidates = listed.result
    .filter((name) => /\.(?:json|ya?ml)$/.test(name))
    .map((name) => join(folder, name))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .map((file) => ({ file, stats: tryTo(() => statSync(file)) }));
  const problems = candidates.flatMap(({ file, stats }) => {
    if ('problem' in stats) return [`${file} ${stats.problem}`];
    // A pipe might never end.
    return stats.result.isFile() || stats.result.isDirectory() ? [] : [`${file} is neither a file nor a folder`];
  });
  if (problems.length > 0) throw invalid(`folder ${folder}`, problems);
  const files = candidates.flatMap(({ file, stats }) => ('result' in stats && stats.result.isFile() ? [file] : []));
  if (files.length === 0) throw invalid(`folder ${folder}`, ['holds no .json, .yaml or .yml file']);
  return files;
}

function invalid(where: string, messages: readonly string[]): ConfigurationError {
  const problems = messages.map((message) => ({ path: '', message }));
  return new ConfigurationError('IMAGE_CONFIG_INVALID', where, problems);
}

function executableProblem(path: string): string | undefined {
  const stats = tryTo(() => statSync(path));
  if ('problem' in stats) {
    return stats.code === 'ENOENT' ? 'does not exist: install the plugin, or correct the name' : stats.problem;
  }
  if (stats.result.isDirectory()) return 'is a folder';
  return 'problem' in tryTo(() => accessSync(path, constants.X_OK)) ? 'is not executable (chmod +x)' : undefined;
}

/** The result of a call of the file system, or what is wrong in our own words. */
function tryTo<T>(
  work: () => T,
): { readonly result: T } | { readonly problem: string; readonly code: string | undefined } {
  try {
    return { result: work() };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : undefined;
    return { problem: wordsFor[code ?? ''] ?? `cannot be read (${code ?? 'unexpected error'})`, code };
  }
}

const denied = `may not be read by the user of this process: correct its mode, or that of a folder above it`;
const wordsFor: Readonly<Record<string, string>> = {
  EACCES: denied,
  EPERM: denied,
  ENOENT: 'does not exist, or is a dangling symbolic link: correct the path',
};
