/** Finds what kubectl would use without --kubeconfig: KUBECONFIG, ~/.kube/config, the pod's service account. */
import { readFileSync, statSync } from 'node:fs';
import { isIPv6 } from 'node:net';
import { delimiter, join } from 'node:path';
import { checkCluster, type ResolvedCluster } from '../access/cluster.ts';
import { clusterSchema } from '../access/cluster-profile.ts';
import { type KubeconfigAccess, readContext } from '../access/kubeconfig.ts';
import { mergeKubeconfigs } from '../access/kubeconfig-files.ts';
import { ConfigurationError } from '../errors/index.ts';
import type { Logger } from '../observability/logger.ts';
import { homeKubeconfig } from '../util/folders.ts';
import {
  type KubeconfigOptions,
  parseKubeconfigOptions,
  readFiles,
  readPart,
  toParts,
  unreadable,
} from './from-kubeconfig.ts';
import type { RestConfigParts } from './rest-config-parts.ts';

/** Where it is looked for. */
export interface DefaultPlaces {
  readonly env: NodeJS.ProcessEnv;
  /** `~/.kube/config`, where there is a home. */
  readonly kubeconfig: () => string | undefined;
  /** The folder that a pod's service account is mounted at. */
  readonly serviceAccount: string;
}

const processPlaces = (): DefaultPlaces => ({
  env: process.env,
  kubeconfig: homeKubeconfig,
  serviceAccount: '/var/run/secrets/kubernetes.io/serviceaccount',
});

/** Throws a `ConfigurationError`. */
export function readDefault(options: KubeconfigOptions, places = processPlaces()): RestConfigParts {
  const settings = parseKubeconfigOptions(options);
  const { env } = places;
  const paths = env.KUBECONFIG ? env.KUBECONFIG.split(delimiter) : [places.kubeconfig() ?? []].flat();
  const texts = readFiles(paths);
  const part = readPart(texts, settings.context);
  if (part) return toParts(part, settings);
  const kubeconfig = mergeKubeconfigs(texts);
  if (kubeconfig.hasProblems()) kubeconfig.giveUp();
  const isPod = inPod(places);
  if (settings.context === undefined && kubeconfig.currentContext === undefined && isPod) {
    if (env.KUBECONFIG) {
      const reason = texts.length === 0 ? 'names no file that exists' : 'has no current-context';
      settings.logger.warn({ paths }, `KUBECONFIG ${reason}: the pod's service account is used instead`);
    }
    return toParts(readServiceAccount(places, settings.logger), settings);
  }
  if (texts.length === 0) {
    const what =
      paths.length === 0 ? 'this user has no home' : paths.length > 1 ? 'none of these exists' : 'does not exist';
    const how = env.KUBECONFIG
      ? 'correct KUBECONFIG'
      : paths.length === 0
        ? 'set KUBECONFIG'
        : 'set KUBECONFIG, or write one there';
    return unreadable(paths, `${what}${isPod ? '' : ', and this is no pod with a service account'}: ${how}`);
  }
  return toParts(readContext(kubeconfig, settings.context, readFileSync), settings);
}

function inPod({ env, serviceAccount }: DefaultPlaces): boolean {
  const token = statSync(join(serviceAccount, 'token'), { throwIfNoEntry: false });
  return Boolean(env.KUBERNETES_SERVICE_HOST && env.KUBERNETES_SERVICE_PORT && token && !token.isDirectory());
}

/** The API server of the cluster that this process runs in, with the token that the kubelet mounts and rotates. */
function readServiceAccount({ env, serviceAccount }: DefaultPlaces, logger: Logger): KubeconfigAccess {
  const { KUBERNETES_SERVICE_HOST: host = '', KUBERNETES_SERVICE_PORT: port, POD_NAMESPACE: podNamespace } = env;
  const origin = `service account ${serviceAccount}`;
  const read = (name: string) => {
    try {
      return readFileSync(join(serviceAccount, name));
    } catch {
      return undefined;
    }
  };
  const server = `https://${isIPv6(host) ? `[${host}]` : host}:${port}`;
  const clusterWith = (ca: Buffer | undefined) => {
    const cluster = { server, 'certificate-authority-data': ca?.toString('base64') };
    return checkCluster(clusterSchema.parse(cluster), 'cluster', (_code, path, message) => {
      throw new ConfigurationError('KUBECONFIG_INVALID', origin, [{ path, message }]);
    });
  };
  let cluster: ResolvedCluster;
  let authorityFile: string | undefined;
  try {
    cluster = clusterWith(read('ca.crt') ?? Buffer.of(0));
    authorityFile = join(serviceAccount, 'ca.crt');
  } catch {
    cluster = clusterWith(undefined);
    logger.warn(
      { path: serviceAccount },
      `${origin}: ca.crt holds no certificate, so only public authorities are trusted`,
    );
  }
  const name = 'in-cluster';
  return {
    context: name,
    user: name,
    origin,
    // The downward API comes first, as in client-go.
    namespace: podNamespace || read('namespace')?.toString('utf8').trim() || undefined,
    access: { provider: name, cluster, ignored: [] },
    authorityFile,
    proxyUrl: undefined,
    exec: undefined,
    staticUser: { tokenFile: join(serviceAccount, 'token') },
    impersonation: {},
  };
}
