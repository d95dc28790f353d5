/** The versions of the exec credential protocol (KEP-541). */
export const apiVersions = [
  'client.authentication.k8s.io/v1',
  'client.authentication.k8s.io/v1beta1',
  'client.authentication.k8s.io/v1alpha1',
] as const;
/** A version of the exec credential protocol. */
export type ApiVersion = (typeof apiVersions)[number];
