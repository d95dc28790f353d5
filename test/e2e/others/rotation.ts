// A spoke whose tokens are exchanged as an issuer does it: the next one is given out, then the server refuses the last one.
import { CoreV1Api } from '@kubernetes/client-node';
import { writePlugin } from '../../../src/testing/index.ts';
import { until } from '../../fixtures/until.ts';
import { allow, isTaken, type Lifetime, serviceAccount, startPlane } from '../fixture.ts';
import { startSpoke } from '../spoke.ts';

/** A spoke with a plugin that says of each token that it expires after `seconds`, or nothing. */
export async function startRotatingSpoke(life: Lifetime, name: string, seconds?: number) {
  const plane = await startPlane(life, name);
  const core = plane.admin.makeApiClient(CoreV1Api);
  await serviceAccount(plane, 'controller');
  const namespace = 'default';
  /** A token ends with the Secret that it is bound to. */
  const mint = async (secret: string): Promise<string> => {
    const { metadata } = await core.createNamespacedSecret({ namespace, body: { metadata: { name: secret } } });
    const boundObjectRef = {
      apiVersion: 'v1',
      kind: 'Secret',
      name: secret,
      ...(metadata?.uid ? { uid: metadata.uid } : {}),
    };
    const body = { spec: { audiences: ['https://kubernetes.default.svc'], boundObjectRef } };
    const { status } = await core.createNamespacedServiceAccountToken({ name: 'controller', namespace, body });
    return status?.token ?? '';
  };
  let generation = 0;
  const next = async (): Promise<{ token: string; expirationTimestamp?: string }> => {
    generation += 1;
    const token = await mint(`generation-${generation}`);
    if (seconds === undefined) return { token };
    return { token, expirationTimestamp: new Date(Date.now() + seconds * 1_000).toISOString() };
  };
  let current = await next();
  const plugin = await writePlugin(current);
  life.after(() => plugin.remove());
  return {
    plane,
    plugin,
    /** The plugin gives out another token; the last one has expired, and the server takes it no longer. */
    rotate: async (t: Parameters<typeof until>[0]) => {
      const last = { ...current, secret: `generation-${generation}` };
      current = await next();
      await plugin.answer(current);
      // A request that was sent just before the expiry is not to be refused: a leader would give up its Lease.
      const isOver = (expiry: string) => Date.now() > Date.parse(expiry) + 2_000;
      await until(t, () => last.expirationTimestamp === undefined || isOver(last.expirationTimestamp));
      await core.deleteNamespacedSecret({ namespace, name: last.secret });
      await until(t, async () => !(await isTaken(plane, last.token)));
    },
  };
}

/** A spoke with a plugin that gives a client certificate. */
export function startCertifiedSpoke(life: Lifetime, name: string) {
  return startSpoke(life, name, async (plane) => {
    await allow(plane, { kind: 'User', name: 'controller' });
    const { certificate, key } = plane.certificateAuthority.issue({ commonName: 'controller', client: true });
    return { next: async () => ({ clientCertificateData: certificate, clientKeyData: key }) };
  });
}
