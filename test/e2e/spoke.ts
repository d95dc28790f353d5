// A cluster that a controller reaches with a plugin's credentials, one for each kind of credential.
import { CredentialProviders, type ExecConfig, type RestConfig } from '../../src/index.ts';
import { type PluginAnswer, type TestPlugin, writePlugin } from '../../src/testing/index.ts';
import type { ControlPlane } from './control-plane.ts';
import { accessBy, allow, clusterOf, type Lifetime, serviceAccount, startPlane } from './fixture.ts';

/** A spoke, and the plugin whose issuer knows it. */
export interface Spoke {
  readonly plane: ControlPlane;
  readonly plugin: TestPlugin;
  /** The plugin's next run gives a new credential. */
  issue(): Promise<void>;
  /** The server refuses what was given so far, where it can. */
  revoke(): Promise<void>;
}

/** How a kind of credential is made. */
interface Issuer {
  readonly next: () => Promise<PluginAnswer>;
  readonly revoke?: () => Promise<void>;
}

/** A spoke with a plugin for its kind of credential. Both end with the test. `flags` are the API server's. */
export async function startSpoke(
  life: Lifetime,
  name: string,
  kind: (plane: ControlPlane) => Promise<Issuer>,
  flags: readonly string[] = [],
): Promise<Spoke> {
  const plane = await startPlane(life, name, flags);
  const { next, revoke = async () => {} } = await kind(plane);
  const plugin = await writePlugin(await next());
  life.after(() => plugin.remove());
  return { plane, plugin, revoke, issue: async () => plugin.answer(await next()) };
}

/** A config for a cluster with a plugin of the test's. It ends with the test. */
export function configFor(
  life: Lifetime,
  plane: ControlPlane,
  exec: Omit<ExecConfig, 'apiVersion'>,
  extensions: readonly { readonly name: string; readonly extension: unknown }[] = [],
): RestConfig {
  const execConfig = { apiVersion: 'client.authentication.k8s.io/v1', ...exec } as const;
  const providers = new CredentialProviders([{ name: 'x', execConfig }]);
  life.after(() => providers.close());
  return providers.getConfig({
    metadata: { name: 'spoke' },
    status: accessBy('x', { ...clusterOf(plane), extensions }),
  });
}

/** Providers with the spokes' plugins, under the spokes' names. They end with the test. */
export function providersOf(life: Lifetime, spokes: readonly Spoke[]): CredentialProviders {
  const providers = new CredentialProviders(
    spokes.map(({ plane, plugin }) => ({
      name: plane.name,
      execConfig: { apiVersion: 'client.authentication.k8s.io/v1', command: plugin.command },
    })),
    { logger: { warn: () => {} } },
  );
  life.after(() => providers.close());
  return providers;
}

const inSeconds = (seconds: number) => new Date(Date.now() + seconds * 1_000).toISOString();
/** The kinds of credentials that a spoke may take. */
export const kinds = {
  token: async (plane: ControlPlane): Promise<Issuer> => {
    const { mint, revoke } = await serviceAccount(plane, 'controller');
    return { next: async () => ({ token: await mint() }), revoke };
  },
  'expiring-token': async (plane: ControlPlane): Promise<Issuer> => {
    const { mint } = await serviceAccount(plane, 'controller');
    return { next: async () => ({ token: await mint(), expirationTimestamp: inSeconds(4) }) };
  },
  'expiring-certificate': async (plane: ControlPlane): Promise<Issuer> => {
    await allow(plane, { kind: 'User', name: 'controller' });
    return {
      next: async () => {
        // Longer than an API server is away when it starts again: nobody issues a new one meanwhile.
        const notAfter = new Date(Date.now() + 60_000);
        const { issue } = plane.certificateAuthority;
        const { certificate, key } = issue({ commonName: 'controller', client: true, notAfter });
        return { clientCertificateData: certificate, clientKeyData: key, expirationTimestamp: inSeconds(4) };
      },
    };
  },
};
