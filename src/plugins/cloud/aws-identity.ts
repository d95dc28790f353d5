/** Keys of an AWS identity, from the environment in the order of the AWS SDKs, and of the roles that it assumes. */
import aws4 from 'aws4';
import * as z from 'zod/mini';
import { hide } from '../../plugin/plugin-process.ts';
import { readText } from '../program.ts';
import {
  type Answer,
  type Call,
  callMetadata,
  callService,
  checkEnd,
  elementOf,
  form,
  jsonOf,
  metadataUrl,
  refusal,
} from './call.ts';

export interface AwsKeys {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Empty if there is none. */
  readonly sessionToken: string;
  /** Milliseconds since 1970; `undefined` if they do not expire. */
  readonly expiresAt: number | undefined;
}

/** Where STS is asked. */
interface Sts {
  readonly region: string;
  readonly endpoint: URL;
}

const domains: readonly (readonly [prefix: string, domain: string])[] = [
  ['cn-', 'amazonaws.com.cn'],
  ['us-iso-', 'c2s.ic.gov'],
  ['us-isob-', 'sc2s.sgov.gov'],
  ['us-isof-', 'csp.hci.ic.gov'],
  ['eu-isoe-', 'cloud.adc-e.uk'],
  ['eusc-', 'amazonaws.eu'],
];

/** The regional host of STS. */
export function stsHost(region: string): string {
  const [, domain = 'amazonaws.com'] = domains.find(([prefix]) => region.startsWith(prefix)) ?? [];
  return `sts.${region}.${domain}`;
}

/** A source gives keys, or says in a sentence why it has none. */
type Source = (sts: () => Sts) => Promise<AwsKeys | string>;

/** A source that the environment names must work: another one would be another identity. Throws an error that says why each has no keys. */
export async function findKeys(sts: () => Sts): Promise<AwsKeys> {
  const reasons: string[] = [];
  for (const source of [fromEnvironment, fromWebIdentity, fromContainer, fromInstance] satisfies Source[]) {
    const keys = await source(sts);
    if (typeof keys !== 'string') return checked(keys);
    reasons.push(keys);
  }
  const advice = 'a plugin in a clean environment has only the variables that its provider sets (execConfig.env)';
  throw new Error(`there is no AWS identity: ${reasons.join('; ')}; ${advice}`);
}

/** Messages do not show them from now on. Throws if they have expired. */
function checked(keys: AwsKeys): AwsKeys {
  checkEnd(`the access key ${keys.accessKeyId}`, keys.expiresAt);
  for (const secret of [keys.secretAccessKey, keys.sessionToken]) if (secret) hide(secret);
  return keys;
}

const fromEnvironment: Source = async () => {
  const { AWS_ACCESS_KEY_ID: accessKeyId, AWS_SECRET_ACCESS_KEY: secretAccessKey } = process.env;
  if (!accessKeyId) return 'AWS_ACCESS_KEY_ID is not set (keys)';
  if (!secretAccessKey) throw new Error('AWS_ACCESS_KEY_ID is set, and AWS_SECRET_ACCESS_KEY is not');
  return { accessKeyId, secretAccessKey, sessionToken: process.env.AWS_SESSION_TOKEN ?? '', expiresAt: undefined };
};

const sessionName = () => process.env.AWS_ROLE_SESSION_NAME || 'eks-credentials';

const fromWebIdentity: Source = async (sts) => {
  const { AWS_WEB_IDENTITY_TOKEN_FILE: file, AWS_ROLE_ARN: role } = process.env;
  if (!file) return 'AWS_WEB_IDENTITY_TOKEN_FILE is not set (IAM roles for service accounts)';
  if (!role) throw new Error('AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not: name the role');
  const token = readText('AWS_WEB_IDENTITY_TOKEN_FILE', file);
  hide(token);
  const Action = 'AssumeRoleWithWebIdentity';
  const parameters = { RoleArn: role, RoleSessionName: sessionName(), WebIdentityToken: token };
  const { region, endpoint: url } = sts();
  return keysOfSts({ url, ...form({ Action, Version, ...parameters }) }, region, role);
};

const Version = '2011-06-15';

/** The keys of a role that the holder of other keys assumes. */
export async function assumeRole(keys: AwsKeys, role: string, sts: Sts): Promise<AwsKeys> {
  const url = sts.endpoint;
  const { body } = form({ Action: 'AssumeRole', Version, RoleArn: role, RoleSessionName: sessionName() });
  const signed = aws4.sign(
    { service: 'sts', region: sts.region, host: url.host, method: 'POST', path: `${url.pathname}${url.search}`, body },
    keys,
  );
  const headers = Object.fromEntries(Object.entries(signed.headers ?? {}).map(([name, value]) => [name, `${value}`]));
  return checked(await keysOfSts({ url, method: 'POST', headers, body }, sts.region, role));
}

const clock = "check this machine's clock";
const advice: Readonly<Record<string, string>> = {
  AccessDenied: 'allow it in the trust policy of the role, for the identity (and, for a web identity, its sub and aud)',
  ExpiredToken: `the keys have expired: replace them, or ${clock}`,
  ExpiredTokenException: `the token in AWS_WEB_IDENTITY_TOKEN_FILE has expired: check whether it is renewed, or ${clock}`,
  IDPCommunicationError: "STS cannot reach the token's issuer",
  InvalidClientTokenId: 'the access key does not exist, is disabled, or belongs to another partition than the region',
  InvalidIdentityToken:
    'the issuer of the token must be an identity provider in IAM, and the token must be for its audience (sts.amazonaws.com)',
  RegionDisabledException: 'activate STS in this region, or choose another --region',
  RequestExpired: `the request is too old: ${clock}`,
  SignatureDoesNotMatch: `check the secret key, and ${clock}`,
  ValidationError: 'correct the ARN of the role',
};

async function keysOfSts(call: Call, region: string, role: string): Promise<AwsKeys> {
  const answer = await callService(call).catch((error: unknown) => {
    const reason = error instanceof Error ? error.message : 'no reason given';
    if (!/\((?:ENOTFOUND|EAI_AGAIN)\)/.test(reason)) throw error;
    throw new Error(`${reason}: check whether the region ${region} exists (--region), or name an --sts-endpoint`);
  });
  const field = (name: string) => elementOf(answer, name);
  const [accessKeyId, secretAccessKey] = [field('AccessKeyId'), field('SecretAccessKey')];
  if (answer.statusCode !== 200 || !accessKeyId || !secretAccessKey) {
    const { message } = refusal(answer, (code) => (Object.hasOwn(advice, code) ? advice[code] : undefined));
    throw new Error(`the role ${role} cannot be assumed: ${message}`);
  }
  const [sessionToken = '', expiresAt] = [field('SessionToken'), timeOf(field('Expiration'))];
  return { accessKeyId, secretAccessKey, sessionToken, expiresAt };
}

const timeOf = (text: string | null | undefined) => {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
};

const text = z.nullish(z.string());
const keysSchema = z.object({ AccessKeyId: z.string(), SecretAccessKey: z.string(), Token: text, Expiration: text });

function keysOfMetadata(answer: Answer, advice?: string): AwsKeys {
  const parsed = keysSchema.safeParse(jsonOf(answer));
  if (answer.statusCode !== 200 || !parsed.success) throw refusal(answer, advice);
  const { AccessKeyId: accessKeyId, SecretAccessKey: secretAccessKey, Token, Expiration } = parsed.data;
  return { accessKeyId, secretAccessKey, sessionToken: Token ?? '', expiresAt: timeOf(Expiration) };
}

/** Addresses to which the SDKs send the token of a container over HTTP: loopback, ECS, and both of EKS. */
const agents = ['localhost', '127.0.0.1', '[::1]', '169.254.170.2', '169.254.170.23', '[fd00:ec2::23]'];

/** EKS Pod Identity, and ECS. */
const fromContainer: Source = async () => {
  const { AWS_CONTAINER_CREDENTIALS_FULL_URI: full, AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: relative } = process.env;
  if (!full && !relative) return 'AWS_CONTAINER_CREDENTIALS_FULL_URI is not set (EKS Pod Identity)';
  const url = URL.parse(relative ? `http://169.254.170.2${relative}` : (full ?? ''));
  if (!url || !(url.protocol === 'https:' || (url.protocol === 'http:' && agents.includes(url.hostname)))) {
    throw new Error('AWS_CONTAINER_CREDENTIALS_FULL_URI must be an https:// URL, or lead to the agent of this machine');
  }
  const { AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: file, AWS_CONTAINER_AUTHORIZATION_TOKEN: token } = process.env;
  const authorization = file ? readText('AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE', file) : token;
  if (authorization) hide(authorization);
  const answer = await callMetadata({ url, ...(authorization ? { headers: { authorization } } : {}) });
  return keysOfMetadata(answer, 'check the pod identity association of the service account');
};

/** IMDSv2: the role of the machine. */
const fromInstance: Source = async () => {
  if (process.env.AWS_EC2_METADATA_DISABLED === 'true') return 'AWS_EC2_METADATA_DISABLED is set (instance metadata)';
  const variable = 'AWS_EC2_METADATA_SERVICE_ENDPOINT';
  const base = metadataUrl(variable, process.env[variable], 'http://169.254.169.254');
  const at = (path: string) => new URL(path, base);
  let session: Answer;
  try {
    const headers = { 'x-aws-ec2-metadata-token-ttl-seconds': '60' };
    session = await callMetadata({ url: at('/latest/api/token'), method: 'PUT', headers });
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'no reason given';
    return `${reason} (instance metadata; a pod reaches it only if the instance's hop limit is at least 2)`;
  }
  if (session.statusCode !== 200) return `${refusal(session, 'enable IMDSv2').message} (instance metadata)`;
  if (session.text !== '') hide(session.text);
  const headers = { 'x-aws-ec2-metadata-token': session.text };
  const roles = at('/latest/meta-data/iam/security-credentials/');
  const listed = await callMetadata({ url: roles, headers });
  const [role = ''] = listed.text.trim().split('\n');
  if (listed.statusCode !== 200 || role === '')
    return `${base.host} knows no role of this instance (instance metadata)`;
  return keysOfMetadata(await callMetadata({ url: new URL(encodeURIComponent(role), roles), headers }));
};
