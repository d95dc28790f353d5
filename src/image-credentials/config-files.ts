/** Finds and reads the files of a configuration, and the executables that it names, as a kubelet does when it starts. */
import { createHash } from 'node:crypto';
import { accessSync, constants, readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { ConfigurationError } from '../errors.ts';
import { type ImageProvider, parseImageConfig } from './config.ts';

/** Folder of plugins, files, validation, executables: in this order. Throws a `ConfigurationError`. */
export function readConfig(
  path: string,
  binDir: string,
): { readonly providers: readonly ImageProvider[]; readonly hash: string } {
  const unreadable = (where: string, message: string) =>
    new ConfigurationError('IMAGE_CONFIG_UNREADABLE', where, [{ path: '', message }]);
  if (!statOf(binDir)?.isDirectory())
    throw unreadable(`folder of plugins ${binDir}`, 'does not exist, or is no folder');
  const stats = path === '' ? undefined : statOf(path);
  if (!stats) throw unreadable(`image credential provider config ${path}`, 'does not exist: correct the path');
  const files = stats.isDirectory()
    ? readdirSync(path)
        .filter((name) => ['.json', '.yaml', '.yml'].includes(extname(name) || (name.startsWith('.') ? name : '')))
        .map((name) => join(path, name))
        .filter((file) => statOf(file)?.isFile())
        .toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
    : [path];
  if (files.length === 0) throw unreadable(`folder ${path}`, 'holds no .json, .yaml or .yml file');
  const hash = createHash('sha256');
  const names = new Set<string>();
  const problems: ConfigurationError[] = [];
  const providers = files.flatMap((file) => {
    const bytes = readFileSync(file);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(bytes.length));
    hash.update(length).update(bytes);
    try {
      return parseImageConfig(bytes.toString('utf8'), file, names);
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error;
      problems.push(error);
      return [];
    }
  });
  const [first] = problems;
  if (first && problems.length === 1) throw first;
  if (first) {
    // Each problem says its file.
    const all = problems.map(({ message }) => ({ path: '', message }));
    throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder ${path}`, all);
  }
  const missing = providers.flatMap(({ name }) => {
    const message = executableProblem(join(binDir, name));
    return message ? [{ path: `provider ${name}`, message: `${join(binDir, name)} ${message}` }] : [];
  });
  if (missing.length > 0) throw new ConfigurationError('IMAGE_CONFIG_INVALID', `folder of plugins ${binDir}`, missing);
  return { providers, hash: `sha256:${hash.digest('hex')}` };
}

function statOf(path: string): ReturnType<typeof statSync> {
  return statSync(path, { throwIfNoEntry: false });
}

function executableProblem(path: string): string | undefined {
  const stats = statOf(path);
  if (!stats) return 'does not exist: install the plugin, or correct the name';
  if (stats.isDirectory()) return 'is a folder';
  try {
    accessSync(path, constants.X_OK);
    return undefined;
  } catch {
    return 'is not executable (chmod +x)';
  }
}
