/** Valid names in Kubernetes: the two rules of RFC 1123 for most names. */

const label = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;
const subdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** The name of a namespace, for example: a to z, digits and `-`, 63 characters at most. */
export const isLabel = (text: string): boolean => label.test(text);

/** The name of a Lease, a Secret or a ClusterProfile, for example: parts like labels with dots between, 253 characters at most. */
export const isSubdomain = (text: string): boolean => text.length <= 253 && subdomain.test(text);
