/** The fields of a ClusterProfile that are read, and how it is said that one cannot be used. */
import { z } from 'zod';
import type { ProfileErrorCode } from '../errors/index.ts';
import type { Json } from './json.ts';
import { mustBe } from './schema-problems.ts';

/** The fields of a ClusterProfile (`multicluster.x-k8s.io/v1alpha1`, KEP-4322) that this package reads. Others are allowed. */
export interface ClusterProfile {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: { readonly name?: string; readonly namespace?: string };
  readonly spec?: { readonly displayName?: string; readonly clusterManager?: { readonly name?: string } };
  readonly status?: ClusterProfileStatus;
}

/** What the cluster manager reports about the cluster. */
export interface ClusterProfileStatus {
  /** KEP-4322: the ways to reach the cluster. */
  readonly accessProviders?: readonly AccessProvider[];
  /** The earlier name of `accessProviders`. It is read as well; `accessProviders` wins if both list a name. */
  readonly credentialProviders?: readonly AccessProvider[];
  readonly conditions?: readonly Condition[];
  readonly version?: { readonly kubernetes?: string };
  /** For example `cluster.clusterset.k8s.io`. */
  readonly properties?: readonly { readonly name: string; readonly value: string }[];
}

/** A condition of a ClusterProfile's status, such as `ControlPlaneHealthy`. */
export interface Condition {
  readonly type: string;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason?: string;
  readonly message?: string;
  readonly observedGeneration?: number;
  readonly lastTransitionTime?: string;
}

/** One way into the cluster: an access type, and the cluster part of a kubeconfig that goes with it. */
export interface AccessProvider {
  /** The access type, for example `google`. */
  readonly name: string;
  readonly cluster?: KubeconfigCluster;
}

/** The cluster part of a kubeconfig, in Kubernetes' JSON names. */
export interface KubeconfigCluster {
  readonly server?: string;
  readonly 'tls-server-name'?: string;
  readonly 'insecure-skip-tls-verify'?: boolean;
  /** A path. Never applied: a ClusterProfile has no file system. */
  readonly 'certificate-authority'?: string;
  /** Base64 of PEM. */
  readonly 'certificate-authority-data'?: string;
  /** `http`, `https` or `socks5`. */
  readonly 'proxy-url'?: string;
  readonly 'disable-compression'?: boolean;
  readonly extensions?: readonly NamedExtension[];
}

/** An extension of a kubeconfig: a name, and any JSON. */
export interface NamedExtension {
  readonly name: string;
  readonly extension?: Json | null;
}

/** @internal As in Kubernetes, `null` and an empty string mean absent. */
export const optionalText = (what: string) =>
  z
    .string(mustBe(what))
    .nullish()
    .transform((value) => value || undefined);
const flag = z
  .boolean(mustBe('true or false'))
  .nullish()
  .transform((value) => value ?? false);

/** @internal */
export const clusterSchema = z.object(
  {
    server: optionalText('an https:// URL'),
    'tls-server-name': optionalText('a host name'),
    'insecure-skip-tls-verify': flag,
    'certificate-authority': optionalText('a path'),
    'certificate-authority-data': optionalText('the base64 of PEM certificates'),
    'proxy-url': optionalText('an http, https or socks5 URL'),
    'disable-compression': flag,
    extensions: z
      .array(
        z.object(
          { name: z.string(mustBe('the name of an extension')), extension: z.unknown().optional() },
          mustBe('an object with name and extension'),
        ),
        mustBe('a list of extensions'),
      )
      .nullish()
      .transform((value) => value ?? []),
  },
  mustBe('an object'),
);

/** @internal A parsed cluster, with a default for every absent field. */
export type ParsedCluster = z.output<typeof clusterSchema>;

/** Throws the error for a field of the profile that cannot be used. */
export type Refuse = (code: ProfileErrorCode, path: string, message: string) => never;

/** A setting of the profile that was not applied. */
export interface Ignored {
  /** The field of the ClusterProfile. */
  readonly path: string;
  readonly reason: string;
}
