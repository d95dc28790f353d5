import { parse } from 'yaml';
import { ExecInfoError } from '../errors/index.ts';
import { checkExecCredential, execInfoText, type LoadedExecCredential } from './exec-info.ts';

/**
 * Reads the text of an ExecCredential, JSON or YAML.
 * @throws {ExecInfoError}
 */
export function loadExecCredential(data: string): LoadedExecCredential {
  return checkExecCredential(parseText(data));
}

/**
 * Reads the environment variable `KUBERNETES_EXEC_INFO`.
 * @throws {ExecInfoError}
 */
export function loadExecCredentialFromEnv(): LoadedExecCredential {
  return loadExecCredential(execInfoText());
}

function parseText(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    // Clients send JSON; people test plugins with YAML.
  }
  try {
    return parse(data, { logLevel: 'error' });
  } catch {
    throw new ExecInfoError('EXEC_INFO_INVALID', 'KUBERNETES_EXEC_INFO is neither JSON nor YAML');
  }
}
