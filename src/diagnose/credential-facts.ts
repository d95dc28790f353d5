/** What a plugin's credential, given or refused, and a server's certificate say of themselves. Never the token or the key. */
import { X509Certificate } from 'node:crypto';
import type { ResolvedCluster } from '../access/cluster.ts';
import type { ResolvedExec } from '../access/resolve.ts';
import { type Credential, type KeyPair, toRfc3339 } from '../exec/credential.ts';
import { hideSecrets, secretsOfArguments, secretsOfEnvironment } from '../redaction/known-secrets.ts';
import { hideShapes } from '../redaction/secret-shapes.ts';
import { unbracket } from '../util/hosts.ts';
import { claimsOfJwt, expiryOfJwt, timeOfClaim } from '../util/jwt.ts';
import { printable } from '../util/printable.ts';
import type { Found } from './stages.ts';

interface Refused {
  /** To go behind the server's answer; empty if nothing can be read from the credential. */
  readonly facts: string;
  readonly advice: string;
}

/** The most bytes of an issuer, and of the audiences. */
const maxBytes = 256;
/** The most bytes of what a server's certificate says. */
const maxServerBytes = 512;

/** Milliseconds. A token that ends sooner, and that the client does not know to renew, is a surprise. */
const tokenSoonMs = 2 * 3_600_000;
/** A server's certificate that ends sooner is worth a warning, unless it is short-lived and has a fifth of its lifetime left. */
const certificateSoonMs = 14 * 86_400_000;

/** `by` is the plugin. `now` is in milliseconds since 1970. A credential that is over is the cause of the 401 that follows. */
export function describeGiven(credential: Credential, by: string, now: number): Found {
  const { authorization, keyPair, expiresAt, token = '' } = credential;
  const what = [authorization ? 'a token' : '', keyPair ? 'a client certificate' : ''].filter(Boolean).join(' and ');
  const ofToken = expiryOfJwt(token);
  // By name: the answer's own comes first, since clients go by it.
  const ends = [
    ['expirationTimestamp', expiresAt],
    ["the token's exp", ofToken],
    ['the certificate', keyPair?.endsAt],
  ] as const;
  const [over, endedAt = 0] = ends.find(([, time]) => time !== undefined && time <= now) ?? [];
  if (over !== undefined) {
    return {
      message: `${by} gives ${what} that has expired already, ${formatDuration(now - endedAt)} ago (${over}: ${toRfc3339(endedAt)})`,
      failed: {
        hint: 'see why the plugin gives an old one, such as from a cache or a Secret that nothing renews, and whether the clock of this machine is right',
      },
    };
  }
  if (expiresAt !== undefined) return { message: `${by} gives ${what} for another ${formatDuration(expiresAt - now)}` };
  if (ofToken === undefined) return { message: `${by} gives ${what} that names no expiry` };
  const left = formatDuration(ofToken - now);
  const warning = `the token ends in ${left}, and the answer has no expirationTimestamp by which clients renew it: use a plugin that sets one, or that mints tokens (secretreader --token-request)`;
  return {
    message: `${by} gives ${what} for another ${left} (the token's exp)`,
    ...(ofToken - now < tokenSoonMs ? { warnings: [warning] } : {}),
  };
}

/** `exec` is the plugin's, whose secrets may stand where another value belongs. `describeGiven` has reported an expired one. */
export function describeRefused(credential: Credential | undefined, exec: ResolvedExec): Refused {
  const { authorization, keyPair, secrets = [] } = credential ?? {};
  if (authorization === undefined && keyPair) return describeRefusedCertificate(keyPair);
  const known = [...secrets, ...secretsOfArguments(exec.args), ...secretsOfEnvironment(exec.env, process.env)];
  return describeToken(authorization, (claim) => printable(hideShapes(hideSecrets(claim, known)), maxBytes));
}

function describeRefusedCertificate({ certificate, endsAt }: KeyPair): Refused {
  const { subject, issuer } = new X509Certificate(certificate);
  const [name, authority] = [subject, issuer].map((distinguished) => printable(nameOf(distinguished), maxBytes));
  return {
    facts: `; the client certificate is of ${name}, by ${authority}, until ${toRfc3339(endsAt)}`,
    advice: `check whether the API server trusts ${authority} for clients (--client-ca-file), and whether its clock is right`,
  };
}

/** `authorization` is the value of the header. `shown` makes a claim printable. */
function describeToken(authorization: string | undefined, shown: (claim: string) => string): Refused {
  const claims = claimsOfJwt(authorization?.replace(/^Bearer /, '') ?? '');
  if (!claims) {
    return {
      facts: '',
      advice:
        'check whether the cluster knows the identity that the plugin gives, for which audience, and whether both clocks are right',
    };
  }
  const [issuer] = textsOf(claims.iss);
  const audiences = textsOf(claims.aud);
  const endsAt = timeOfClaim(claims.exp);
  const facts = [
    `iss ${shown(issuer ?? 'none')}`,
    `aud ${shown(audiences.join(', ') || 'none')}`,
    endsAt === undefined ? 'no exp' : `exp ${toRfc3339(endsAt)}`,
  ].join('; ');
  const isServiceAccount = typeof claims.sub === 'string' && claims.sub.startsWith('system:serviceaccount:');
  const isUsual = (audience: string) => audience === issuer || /^https:\/\/kubernetes\.default\.svc\b/.test(audience);
  const advice =
    isServiceAccount && !audiences.some(isUsual)
      ? "the audience looks wrong: for tokens of service accounts it is usually the issuer or https://kubernetes.default.svc; ask for one that the server's --api-audiences has"
      : `check ${isServiceAccount ? 'whether the service account, or the Pod or Secret that the token is bound to, has been deleted, ' : ''}whether the API server trusts this issuer for this audience (--oidc-issuer-url, --oidc-client-id, --authentication-config, --api-audiences), and whether its clock is right`;
  return { facts: `; the token is a JWT: ${facts}`, advice };
}

/** A claim of one text or of several. */
function textsOf(claim: unknown): readonly string[] {
  return [claim].flat().filter((one) => typeof one === 'string');
}

export function describeServerCertificate(
  { subjectAltName, subject, issuer, validFrom, validTo }: X509Certificate,
  { server, tlsServerName, insecureSkipTlsVerify }: ResolvedCluster,
): Found {
  const name = tlsServerName ?? unbracket(new URL(server).hostname);
  const left = Date.parse(validTo) - Date.now();
  const endsSoon = left < certificateSoonMs && left < (Date.parse(validTo) - Date.parse(validFrom)) / 5;
  const names = subjectAltName ?? subject;
  const warnings = [
    ...(insecureSkipTlsVerify ? [`nothing is verified: the certificate is for ${names ?? 'no name'}`] : []),
    ...(endsSoon ? [`the server's certificate ends in ${formatDuration(left)}: renew it`] : []),
  ].map((warning) => printable(warning, maxServerBytes));
  const message = `${name}, certificate by ${nameOf(issuer)}, ${formatDuration(left)} left`;
  return { message: printable(message, maxServerBytes), warnings };
}

/** The common name of a distinguished name of a certificate, else all of it. */
function nameOf(distinguished: string | undefined): string {
  return /^CN=(.*)$/m.exec(distinguished ?? '')?.[1] ?? distinguished?.replaceAll('\n', ', ') ?? 'nobody';
}

/** `59 s`, `15 min`, `7 h`, `364 d`: rounded down, in the largest unit of which there are two. */
export function formatDuration(ms: number): string {
  const units = [
    ['d', 86_400_000],
    ['h', 3_600_000],
    ['min', 60_000],
  ] as const;
  const [unit, size] = units.find(([, one]) => ms >= 2 * one) ?? ['s', 1_000];
  return `${Math.max(0, Math.floor(ms / size))} ${unit}`;
}
