/** Where the template of the pods stands in each kind of workload. */
export const podSpecs: Readonly<Record<string, readonly string[]>> = {
  Pod: ['spec'],
  ReplicaSet: ['spec', 'template', 'spec'],
  Deployment: ['spec', 'template', 'spec'],
  StatefulSet: ['spec', 'template', 'spec'],
  DaemonSet: ['spec', 'template', 'spec'],
  Job: ['spec', 'template', 'spec'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template', 'spec'],
};

/** Whether pods are made of it. */
export function isWorkload(kind: string): boolean {
  return Object.hasOwn(podSpecs, kind);
}
