/** Issuers that an API server trusts, by structured authentication configuration. */
import { readFile } from 'node:fs/promises';
import type { TestContext } from 'node:test';
import { parse } from 'yaml';
import { z } from 'zod';
import type { Issuer } from '../../fixtures/issuer.ts';
import { writeInput } from '../../fixtures/program.ts';
import { until } from '../../fixtures/until.ts';
import type { ControlPlane } from '../control-plane.ts';
import { isTaken, type Lifetime } from '../fixture.ts';

export interface TrustedIssuer {
  readonly issuer: Issuer;
  readonly audiences: readonly string[];
  /** Before the subject, in the user's name. */
  readonly prefix: string;
}

const configurationSchema = z.object({
  jwt: z.tuple([
    z.object({
      issuer: z.object({ url: z.string(), audiences: z.array(z.string()) }),
      claimMappings: z.object({ username: z.object({ claim: z.literal('sub'), prefix: z.string() }) }),
    }),
  ]),
});

/** What a recipe's own configuration says of its issuer. */
export async function configurationOf(recipe: string) {
  const file = new URL(`../../../examples/deploy/${recipe}/authentication-configuration.yaml`, import.meta.url);
  const { jwt } = configurationSchema.parse(parse(await readFile(file, 'utf8')));
  const [{ issuer, claimMappings }] = jwt;
  return { host: new URL(issuer.url).host, audiences: issuer.audiences, prefix: claimMappings.username.prefix };
}

/** The API server's flag for them. */
export async function authenticationFlag(life: Lifetime, trusted: readonly TrustedIssuer[]): Promise<string> {
  const jwt = trusted.map(({ issuer: { url, ca, discoveryUrl }, audiences, prefix }) => ({
    issuer: {
      url,
      ...(discoveryUrl.startsWith(url) ? {} : { discoveryURL: discoveryUrl }),
      certificateAuthority: ca,
      audiences,
      audienceMatchPolicy: 'MatchAny',
    },
    claimMappings: { username: { claim: 'sub', prefix } },
  }));
  const kind = { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AuthenticationConfiguration' };
  return `--authentication-config=${await writeInput(life, 'authentication.json', { ...kind, jwt })}`;
}

/** Until the server has the keys of an issuer: it fetches them when it has begun to serve. */
export async function untilTrusted(
  t: Pick<TestContext, 'signal' | 'name'>,
  plane: ControlPlane,
  { issuer, audiences }: TrustedIssuer,
): Promise<void> {
  const token = await issuer.sign({ sub: 'nobody', aud: audiences[0] ?? '' });
  await until(t, () => isTaken(plane, token));
}
