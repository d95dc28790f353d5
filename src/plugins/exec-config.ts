/** The settings that a profile gives a plugin in its extension `client.authentication.k8s.io/exec`. They are not trusted. */
import { isSubdomain } from '../util/kubernetes-names.ts';

/** The extension; without it there is nothing to read. */
export function clusterConfig(spec: { readonly cluster?: { readonly config?: unknown } | null | undefined }): unknown {
  const config = spec.cluster?.config;
  if (config !== undefined && config !== null) return config;
  const advice = 'set provideClusterInfo: true, and the extension client.authentication.k8s.io/exec in the profile';
  throw new Error(`missing ExecCredential.Spec.Cluster.Config: ${advice}`);
}

/** A field that is text, `undefined` where it is missing or empty. */
export function textField(config: unknown, field: string): string | undefined {
  const value: unknown = typeof config === 'object' && config !== null ? Reflect.get(config, field) : undefined;
  if (value === undefined || value === null || value === '') return undefined;
  if (typeof value === 'string') return value;
  throw new Error(`invalid ExecCredential.Spec.Cluster.Config: ${field} must be text`);
}

/** The same for the name of an object or a namespace, which becomes a part of a path. */
export function nameField(config: unknown, field: string): string | undefined {
  const name = textField(config, field);
  if (name === undefined || isSubdomain(name)) return name;
  throw new Error(`invalid ExecCredential.Spec.Cluster.Config: ${field} must be a name as Kubernetes has them`);
}

/** The same, where it has to be there. */
export function requiredName(config: unknown, field: string): string {
  const name = nameField(config, field);
  if (name === undefined) throw new Error(`missing ${field} in ExecCredential.Spec.Cluster.Config`);
  return name;
}
