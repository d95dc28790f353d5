/** What an answer that a client accepts holds, and what should be corrected all the same. It does not contain the credential. Pure. */
import type { Credential } from '../../exec/credential.ts';
import { expiryOfJwt } from '../../exec/jwt.ts';
import type { Ended } from '../../exec/process.ts';
import { toRfc3339 } from '../../exec/rfc3339.ts';

/** `-o json` has the same names. */
export interface Diagnosis {
  /** Problems that a client accepts, but that should be corrected. */
  readonly warnings: readonly string[];
  readonly credential: CredentialFacts;
}

export interface CredentialFacts {
  /** What the answer holds. */
  readonly kinds: readonly ('token' | 'client certificate')[];
  /** RFC 3339. */
  readonly expirationTimestamp?: string;
  readonly expiresInSeconds?: number;
  readonly certificate?: { readonly notBefore: string; readonly notAfter: string };
  /** `exp` of a token that is a JWT. */
  readonly tokenExpires?: string;
}

/** Seconds. With a shorter lifetime of the credential the plugin would run all the time. */
const shortLife = 60;
/** Milliseconds after which a plugin counts as slow. */
const longRun = 5_000;

/** `now` is in milliseconds since 1970. */
export function diagnose(
  credential: Credential,
  { stderr }: Pick<Ended, 'stderr'>,
  { durationMs, now }: { readonly durationMs: number; readonly now: number },
): Diagnosis {
  const warnings = [
    ...adviceFor(credential, now),
    ...(credential.secrets.some((secret) => stderr.includes(secret))
      ? ['it writes its credential on stderr too, which clients log: write nothing secret there']
      : []),
    ...(durationMs > longRun
      ? [`it took ${(durationMs / 1_000).toFixed(1)} s, and requests wait for it: keep what takes long`]
      : []),
  ];
  return { warnings, credential: factsOf(credential, now) };
}

function factsOf(credential: Credential, now: number): CredentialFacts {
  const { authorization, keyPair, expiresAt } = credential;
  const tokenExpires = expiryOfJwt(credential.secrets[0] ?? '');
  return {
    kinds: [
      authorization === undefined ? [] : ['token' as const],
      keyPair ? ['client certificate' as const] : [],
    ].flat(),
    ...(expiresAt === undefined
      ? {}
      : { expirationTimestamp: toRfc3339(expiresAt), expiresInSeconds: Math.floor((expiresAt - now) / 1_000) }),
    ...(keyPair
      ? { certificate: { notBefore: toRfc3339(keyPair.startsAt), notAfter: toRfc3339(keyPair.endsAt) } }
      : {}),
    ...(tokenExpires === undefined ? {} : { tokenExpires: toRfc3339(tokenExpires) }),
  };
}

function adviceFor(credential: Credential, now: number): readonly string[] {
  const { keyPair, expiresAt } = credential;
  const advice: string[] = [];
  const tokenExpires = expiryOfJwt(credential.secrets[0] ?? '');
  if (expiresAt === undefined) {
    const known = tokenExpires ?? keyPair?.endsAt;
    const when = known === undefined ? '' : ` (it expires at ${toRfc3339(known)})`;
    advice.push(
      `it sets no expirationTimestamp${when}, so clients keep the credential until a server refuses it: set one`,
    );
  } else if (expiresAt <= now) {
    advice.push('its expirationTimestamp has passed already: check whether the clock is right');
  } else if (expiresAt - now < shortLife * 1_000) {
    advice.push(
      `its credential expires in ${Math.floor((expiresAt - now) / 1_000)} s, so it runs all the time: issue longer ones`,
    );
  }
  if (expiresAt !== undefined && tokenExpires !== undefined && tokenExpires < expiresAt) {
    advice.push(
      `its token is a JWT that expires at ${toRfc3339(tokenExpires)}, before expirationTimestamp: set the earlier time`,
    );
  }
  if (!keyPair) return advice;
  if (keyPair.startsAt > now)
    advice.push(`its certificate is not valid before ${toRfc3339(keyPair.startsAt)}: check whether the clock is right`);
  if (keyPair.endsAt <= now) advice.push(`its certificate expired at ${toRfc3339(keyPair.endsAt)}: servers refuse it`);
  else if (expiresAt !== undefined && keyPair.endsAt < expiresAt) {
    advice.push(
      `its certificate expires at ${toRfc3339(keyPair.endsAt)}, before expirationTimestamp: set the earlier time`,
    );
  }
  return advice;
}
