/** Finds and reads the files of a configuration, and the executables that it names, as a kubelet does when it starts. */
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { errnoOf } from '../util/guards.ts';
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
  const isFolder = attempt(`folder of plugins ${folder}`, () => statSync(folder)).isDirectory();
  if (!isFolder) throw invalid(`folder of plugins ${folder}`, ['is no folder']);
  const names = new Set<string>();
  const problems: ConfigurationError[] = [];
  const providers = filesOf(path).flatMap((file) => {
    const content = attempt(`image credential provider config ${file}`, () => readFileSync(file, 'utf8'));
    try {
      return parseImageConfig(content, file, names);
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

/** The file, or those of a folder that a kubelet reads, in the order of their paths' bytes. Other folders and pipes are ignored, whatever their name. */
function filesOf(path: string): readonly string[] {
  if (!attempt(`image credential provider config ${path}`, () => statSync(path)).isDirectory()) return [path];
  const files = attempt(`folder ${path}`, () => readdirSync(path))
    .filter((name) => /\.(?:json|ya?ml)$/.test(name))
    .map((name) => join(path, name))
    .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .filter((file) => attempt(`image credential provider config ${file}`, () => statSync(file)).isFile());
  if (files.length === 0) throw invalid(`folder ${path}`, ['holds no .json, .yaml or .yml file']);
  return files;
}

function invalid(where: string, messages: readonly string[]): ConfigurationError {
  const problems = messages.map((message) => ({ path: '', message }));
  return new ConfigurationError('IMAGE_CONFIG_INVALID', where, problems);
}

function executableProblem(path: string): string | undefined {
  try {
    if (statSync(path).isDirectory()) return 'is a folder';
    accessSync(path, constants.X_OK);
    return undefined;
  } catch (error) {
    const code = errnoOf(error);
    if (code === 'ENOENT') return 'does not exist: install the plugin, or correct the name';
    return code === 'EACCES' ? 'is not executable (chmod +x), or not for the user of this process' : wordsOf(code);
  }
}

/** The result of a call of the file system, or an error in our own words. */
function attempt<T>(where: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw invalid(where, [wordsOf(errnoOf(error))]);
  }
}

function wordsOf(code: string): string {
  if (code === 'ENOENT') return 'does not exist, or is a dangling symbolic link: correct the path';
  if (code !== 'EACCES' && code !== 'EPERM') return `cannot be read (${code})`;
  return 'may not be read by the user of this process: correct its mode, or that of a folder above it';
}
