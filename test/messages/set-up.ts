import type { TestContext } from 'node:test';
import { CoreV1Api } from '@kubernetes/client-node';
import type { ClusterProfile, CredentialProvidersOptions, Provider, RestConfig } from '../../src/index.ts';
import type { PluginAnswer } from '../../src/testing/index.ts';
import { startCluster, startPlugin, startProviders } from '../fixtures/fleet.ts';
import { clusterOf } from '../fixtures/kubeconfigs.ts';
import { shellPlugin } from '../fixtures/script.ts';

/** A way to break a set-up: does what a user does, and fails as it fails for him. */
export type SetUp = (t: TestContext) => unknown;
/** By a name that says what is broken. */
export type SetUps = Readonly<Record<string, SetUp>>;

/** A set-up that works but for what is changed of it. */
interface Parts {
  /** Fields of the profile's cluster; one that is `undefined` is left out. */
  readonly cluster?: Readonly<Record<string, unknown>>;
  /** The profile's `status`, instead of one that fits. */
  readonly status?: ClusterProfile['status'] | null;
  readonly exec?: Partial<Provider['execConfig']>;
  readonly provider?: Partial<Omit<Provider, 'execConfig'>>;
  readonly answer?: PluginAnswer;
  /** Shell code that is the plugin. */
  readonly script?: string;
  readonly options?: CredentialProvidersOptions;
}

/** The config of the cluster `fleet/spoke-1`, with access type `google`. */
export async function configWith(t: TestContext, parts: Parts = {}): Promise<RestConfig> {
  const cluster = await startCluster(t);
  const plugin = parts.script === undefined ? await startPlugin(t, parts.answer) : await shellPlugin(t, parts.script);
  const status = { accessProviders: [{ name: 'google', cluster: { ...clusterOf(cluster), ...parts.cluster } }] };
  const { provider, exec: execConfig = {}, options } = parts;
  const providers = startProviders(t, plugin, options, { name: 'google', ...provider, execConfig });
  const metadata = { namespace: 'fleet', name: 'spoke-1' };
  return providers.getConfig({
    metadata,
    ...(parts.status === null ? {} : { status: parts.status ?? status }),
  } as ClusterProfile); // some of them are wrong on purpose
}

/** What a controller does with it. */
export const list = (config: RestConfig) => config.makeApiClient(CoreV1Api).listNamespace();
export const listWith = async (t: TestContext, parts: Parts) => list(await configWith(t, parts));
