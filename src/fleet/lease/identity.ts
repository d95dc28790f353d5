/** What a process calls itself in a Lease. */
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';

/** The pod's name (`POD_NAME`, by the downward API), else the host's name, which is the same in a pod without hostNetwork. */
export function processName(): string {
  return process.env.POD_NAME || hostname();
}

/** As controller-runtime has it: a process that is started again in the same pod is another one. */
export function uniqueIdentity(): string {
  return `${processName()}_${randomUUID()}`;
}
