// A replica that makes one child for each template on each cluster, with a name that the server makes up.
import { setControllerReference } from '../../../src/fleet/index.ts';
import { given, runReplica } from './replica-program.ts';

const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', command: given.command } as const;
const children = { apiVersion: 'v1', kind: 'Secret', namespace: 'default' } as const;

await runReplica(
  ['one', 'two'].map((name) => ({ name, execConfig: { ...execConfig, args: [name] } })),
  (fleet) => {
    fleet.controller({
      name: 'children',
      for: { apiVersion: 'v1', kind: 'ConfigMap', namespace: 'default', labelSelector: 'app=template' },
      owns: [children],
      reconcile: async ({ name }, { cluster, object }) => {
        if (!object || cluster.informer(children).childrenOf(object).length > 0) return;
        const child = { metadata: { generateName: `${name}-`, namespace: 'default' } };
        await cluster.resource(children).create(setControllerReference(object, child));
      },
    });
  },
);
