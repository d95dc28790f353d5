/** Where kubectl looks for a kubeconfig that nobody names. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** `~/.kube/config`; `undefined` where this user has no home: no HOME, and no entry among the users of the machine. */
export function homeKubeconfig(homeOf = homedir): string | undefined {
  try {
    return join(homeOf(), '.kube', 'config');
  } catch {
    return undefined;
  }
}
