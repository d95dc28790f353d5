/** Tokens for EKS clusters: a presigned request to STS, which the cluster's webhook sends to learn who signed it. */
import { parseArgs } from 'node:util';
import aws4 from 'aws4';
import { createGlob } from '../../access/url-pattern.ts';
import { textField } from '../profile-input.ts';
import { type GetStatus, once, refuseEmpty } from '../program.ts';
import { type AwsKeys, assumeRole, findKeys, stsHost } from './aws-identity.ts';
import { httpsUrl } from './call.ts';

export const usage = `Usage: eks-credentials --cluster-id NAME [OPTION]...
       eks-credentials --profile-cluster PATTERN [OPTION]...

A credential plugin (KEP-541), run by a Kubernetes client. Prints a token for an EKS cluster, as "aws eks get-token" does.
  --cluster-id NAME          name of the cluster that the token is for
  --profile-cluster PATTERN  let the profile name it in its exec extension, { clusterId, region }; a * matches any text.
                             May be repeated
  --region REGION            region of the cluster and of STS; default AWS_REGION. If it is given, a profile must not name another one
  --role-arn ARN             assume this role. If repeated, each role is assumed with the keys of the one before it
  --sts-endpoint URL         STS endpoint for roles, such as a VPC endpoint; default https://sts.REGION.amazonaws.com
The identity comes from the environment, from the first of these that is configured:
  AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, with AWS_SESSION_TOKEN if the keys are temporary
  AWS_WEB_IDENTITY_TOKEN_FILE and AWS_ROLE_ARN (IAM roles for service accounts)
  AWS_CONTAINER_CREDENTIALS_FULL_URI and AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE (EKS Pod Identity)
  the role of the instance (IMDSv2), unless AWS_EC2_METADATA_DISABLED is true
AWS_ROLE_SESSION_NAME names the session. ~/.aws is not read. HTTPS_PROXY is used for STS, never for metadata.`;

type Settings = ReturnType<typeof readSettings>;

function readSettings(args: readonly string[]) {
  const many = { type: 'string', multiple: true, default: [] as string[] } as const;
  const { values } = parseArgs({
    args: [...args],
    options: { 'cluster-id': many, 'profile-cluster': many, region: many, 'role-arn': many, 'sts-endpoint': many },
  });
  refuseEmpty(values);
  const clusterId = once('cluster-id', values['cluster-id']);
  const region = once('region', values.region);
  const endpoint = once('sts-endpoint', values['sts-endpoint']);
  const { 'profile-cluster': profileClusters, 'role-arn': roles } = values;
  if (clusterId !== undefined && profileClusters.length > 0)
    throw new Error('--cluster-id and --profile-cluster exclude each other: the token is for one cluster');
  if (clusterId !== undefined) checkClusterName('--cluster-id', clusterId);
  if (region !== undefined) checkRegion('--region', region);
  const wrong = roles.find((role) => !/^arn:aws[\w-]*:iam::\d{12}:role\/\S+$/.test(role));
  if (wrong !== undefined) throw new Error(`--role-arn ${wrong} must look like arn:aws:iam::123456789012:role/NAME`);
  return {
    clusterId,
    profileClusters,
    region,
    roles,
    endpoint: endpoint === undefined ? undefined : httpsUrl('--sts-endpoint', endpoint),
  };
}

function checkClusterName(what: string, name: string): void {
  if (!/^[\w.:/@-]{1,253}$/.test(name)) throw new Error(`${what} must be the name of a cluster`);
}

/** It becomes a part of a host's name. */
function checkRegion(what: string, region: string): void {
  if (!/^[a-z]{2,5}(?:-[a-z]{2,12}){1,3}-\d{1,2}$/.test(region))
    throw new Error(`${what} must be a region such as eu-west-1`);
}

export function eksCredentials(args: readonly string[]): GetStatus {
  const settings = readSettings(args);
  return async ({ spec }) => {
    const { clusterId, region } = clusterOf(settings, spec.cluster?.config);
    // A profile's region must not decide where the identity's own tokens are sent.
    const sts = () => {
      const home = known(regionOfOperator(settings));
      return { region: home, endpoint: settings.endpoint ?? new URL(`https://${stsHost(home)}/`) };
    };
    let keys = await findKeys(sts);
    for (const role of settings.roles) keys = await assumeRole(keys, role, sts());
    const now = Date.now();
    const ends = [now + tokenMs, ...(keys.expiresAt === undefined ? [] : [keys.expiresAt])];
    return { token: tokenFor(clusterId, region, keys, now), expirationTimestamp: new Date(Math.min(...ends)) };
  };
}

/** Milliseconds: STS accepts the request for 15 minutes. */
const tokenMs = 14 * 60_000;

/** The cluster that the operator names, or that the profile names if the operator allows it. */
function clusterOf(settings: Settings, config: unknown): { readonly clusterId: string; readonly region: string } {
  const { profileClusters } = settings;
  const usual = regionOfOperator(settings);
  if (profileClusters.length === 0) {
    if (settings.clusterId !== undefined) return { clusterId: settings.clusterId, region: known(usual) };
    const advice = 'give --cluster-id, or let profiles name it with --profile-cluster';
    throw new Error(`nothing names the cluster that the token is for: ${advice}`);
  }
  const clusterId = textField(config, 'clusterId');
  if (clusterId === undefined) {
    const advice =
      'set provideClusterInfo: true, and { clusterId, region } in the extension client.authentication.k8s.io/exec';
    throw new Error(`the profile names no cluster: ${advice}`);
  }
  checkClusterName("the profile's clusterId", clusterId);
  if (!profileClusters.some((pattern) => createGlob(pattern)(clusterId))) {
    const allowed = profileClusters.join(', ');
    throw new Error(`the profile names the cluster ${clusterId}, and may name only ${allowed} (--profile-cluster)`);
  }
  const region = textField(config, 'region');
  if (region === undefined) return { clusterId, region: known(usual) };
  checkRegion("the profile's region", region);
  if (settings.region !== undefined && region !== settings.region)
    throw new Error(`the profile names the region ${region}, and may name only ${settings.region} (--region)`);
  return { clusterId, region };
}

function regionOfOperator({ region }: Settings): string | undefined {
  const named = region ?? (process.env.AWS_REGION || process.env.AWS_DEFAULT_REGION || undefined);
  if (named !== undefined) checkRegion('AWS_REGION', named);
  return named;
}

function known(region: string | undefined): string {
  if (region === undefined) throw new Error('nothing names the region: give --region, or set AWS_REGION');
  return region;
}

/** The token that `aws-iam-authenticator token` prints at this time (milliseconds since 1970). */
export function tokenFor(clusterId: string, region: string, keys: AwsKeys, now: number): string {
  const host = stsHost(region);
  const date = new Date(now).toISOString().replace(/[:-]|\.\d{3}/g, '');
  const path = `/?Action=GetCallerIdentity&Version=2011-06-15&X-Amz-Expires=60&X-Amz-Date=${date}`;
  const headers = { 'x-k8s-aws-id': clusterId };
  const request = { service: 'sts', region, host, path, headers, signQuery: true };
  const signed = aws4.sign(request, keys);
  const [, query = ''] = (signed.path ?? '').split('?');
  const isSignature = (parameter: string) => parameter.startsWith('X-Amz-Signature=');
  const parameters = query
    .split('&')
    .toSorted((a, b) => Number(isSignature(a)) - Number(isSignature(b)) || (a < b ? -1 : 1));
  return `k8s-aws-v1.${Buffer.from(`https://${host}/?${parameters.join('&')}`).toString('base64url')}`;
}
