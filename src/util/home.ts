/** The default path of the kubeconfig, as in kubectl. */
import { homedir } from 'node:os';
import { join } from 'node:path';

/** `~/.kube/config`; `undefined` if this user has no home: neither `HOME` nor an entry in the user database. */
export function homeKubeconfig(homeOf = homedir): string | undefined {
  try {
    return join(homeOf(), '.kube', 'config');
  } catch {
    return undefined;
  }
}
