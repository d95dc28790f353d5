/** The arguments of `oidc-credentials`: where a token comes from, how the client proves who it is, and whom the token is for. */
import { parseArgs } from 'node:util';
import { once, refuseEmpty } from '../program.ts';
import { type KeyAlgorithm, keyAlgorithms } from './client-key.ts';

export const usage = `Usage: oidc-credentials --issuer URL --client-id ID [PROOF] [--subject-token-file FILE] [OPTION]...
       oidc-credentials --token-file FILE

A credential plugin (KEP-541), run by a Kubernetes client. Gives a token of an OAuth 2.0 or OpenID Connect issuer: of the client
itself (client credentials), or in exchange for the token in a file (RFC 8693). The second form gives the JWT in a file as it is.
  --issuer URL               whose token endpoint its metadata says (OpenID Connect Discovery)
  --token-endpoint URL       the token endpoint of an issuer that publishes no metadata
  --client-id ID             as whom the issuer knows this controller
PROOF, one of:
  --client-secret-file FILE  a secret, sent as HTTP Basic
  --client-key-file FILE     a private key (PEM), for private_key_jwt; --client-key-id and --client-key-algorithm may follow
                             (${keyAlgorithms.join(', ')})
  --client-assertion-file FILE
                             a JWT that another issuer has signed for this client, such as the pod's projected token
  without any the client is a public one, which only an exchange may be
  --subject-token-file FILE  the token to exchange; a JWT, unless --subject-token-type names another type (a URN)
What is asked for:
  --scope SCOPE              may be repeated
  --audience NAME            whom the token is for; may be repeated
  --resource URL             RFC 8707; may be repeated
  --profile-audience PATTERN the profile may name the audience, in its exec extension: { audience }; a * stands for anything.
                             May be repeated
  --id-token                 give the ID token of the answer, not its access token
  --ca-file FILE             the only authorities (PEM) that the issuer's certificate may be of
  --timeout-seconds N        for each request to the issuer; default 10
Files are read at each run: tokens and secrets may be replaced at any time.`;

/** How the client proves to the issuer who it is. */
export type Proof =
  | { readonly kind: 'secret' | 'assertion'; readonly file: string }
  | {
      readonly kind: 'key';
      readonly file: string;
      readonly keyId: string | undefined;
      readonly algorithm: KeyAlgorithm | undefined;
    }
  | { readonly kind: 'none' };

export interface IssuerSettings {
  readonly issuer: URL | undefined;
  readonly tokenEndpoint: URL | undefined;
  readonly clientId: string;
  readonly proof: Proof;
  /** The token that is exchanged. Without it the client gets a token for itself. */
  readonly subject: { readonly file: string; readonly type: string } | undefined;
  readonly scopes: readonly string[];
  readonly audiences: readonly string[];
  readonly resources: readonly string[];
  /** Audiences that a profile may name. */
  readonly profileAudiences: readonly string[];
  readonly wantsIdToken: boolean;
  readonly caFile: string | undefined;
  readonly timeoutSeconds: number;
}

export type Settings = { readonly tokenFile: string } | IssuerSettings;

const single = { type: 'string', multiple: true } as const;
const many = { type: 'string', multiple: true, default: [] as string[] } as const;
const options = {
  issuer: single,
  'token-endpoint': single,
  'client-id': single,
  'client-secret-file': single,
  'client-key-file': single,
  'client-key-id': single,
  'client-key-algorithm': single,
  'client-assertion-file': single,
  'subject-token-file': single,
  'subject-token-type': single,
  'token-file': single,
  'ca-file': single,
  'timeout-seconds': single,
  scope: many,
  audience: many,
  resource: many,
  'profile-audience': many,
  'id-token': { type: 'boolean', default: false },
} as const;
type Name = keyof typeof options;

/** Throws an error whose message says what to write instead. */
export function readSettings(args: readonly string[]): Settings {
  const { values } = parseArgs({ args: [...args], options });
  refuseEmpty(values);
  const one = (name: Name): string | undefined => {
    const given = values[name];
    return Array.isArray(given) ? once(name, given) : undefined;
  };
  const tokenFile = one('token-file');
  if (tokenFile !== undefined) {
    const others = Object.entries(values).filter(([name, given]) => name !== 'token-file' && isGiven(given));
    if (others.length === 0) return { tokenFile };
    const names = others.map(([name]) => `--${name}`).join(', ');
    throw new Error(`--token-file gives the token as it is, and cannot be combined with ${names}`);
  }
  const issuer = urlOf('issuer', one('issuer'));
  const tokenEndpoint = urlOf('token-endpoint', one('token-endpoint'));
  if (!issuer === !tokenEndpoint) {
    throw new Error('one of --issuer, --token-endpoint and --token-file has to say where the token comes from');
  }
  const clientId = one('client-id');
  const proof = readProof(one);
  const subjectFile = one('subject-token-file');
  const type = one('subject-token-type');
  if (type !== undefined && subjectFile === undefined) {
    throw new Error('--subject-token-type needs --subject-token-file, the token that is exchanged');
  }
  if (clientId === undefined)
    throw new Error('--client-id is missing: the name by which the issuer knows this controller');
  if (proof.kind === 'none' && subjectFile === undefined) {
    const proofs = '--client-secret-file, --client-key-file and --client-assertion-file';
    throw new Error(`nothing says who this client is: add one of ${proofs}, or a --subject-token-file to exchange`);
  }
  if (values['id-token'] && !issuer) {
    throw new Error('--id-token needs --issuer: the ID token names its issuer, and is checked against it');
  }
  return {
    issuer,
    tokenEndpoint,
    clientId,
    proof,
    subject:
      subjectFile === undefined
        ? undefined
        : { file: subjectFile, type: type ?? 'urn:ietf:params:oauth:token-type:jwt' },
    scopes: values.scope,
    audiences: values.audience,
    resources: values.resource,
    profileAudiences: values['profile-audience'],
    wantsIdToken: values['id-token'],
    caFile: one('ca-file'),
    timeoutSeconds: secondsOf(one('timeout-seconds')),
  };
}

const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value === true);

function readProof(one: (name: Name) => string | undefined): Proof {
  const given = (['client-secret-file', 'client-key-file', 'client-assertion-file'] as const).flatMap((name) => {
    const file = one(name);
    return file === undefined ? [] : [{ name, file }];
  });
  const [first, second] = given;
  if (first && second) throw new Error(`--${first.name} and --${second.name} are two proofs: keep one`);
  const keyId = one('client-key-id');
  const named = one('client-key-algorithm');
  if (first?.name !== 'client-key-file' && (keyId !== undefined || named !== undefined)) {
    throw new Error('--client-key-id and --client-key-algorithm need --client-key-file');
  }
  if (!first) return { kind: 'none' };
  if (first.name === 'client-secret-file') return { kind: 'secret', file: first.file };
  if (first.name === 'client-assertion-file') return { kind: 'assertion', file: first.file };
  const algorithm = keyAlgorithms.find((known) => known === named);
  if (named !== undefined && algorithm === undefined) {
    throw new Error(`--client-key-algorithm ${named} must be one of ${keyAlgorithms.join(', ')}`);
  }
  return { kind: 'key', file: first.file, keyId, algorithm };
}

/** A secret goes there, so it has to be `https://`. The URL is not quoted: it may hold a password. */
function urlOf(name: Name, text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  const url = URL.parse(text);
  if (name === 'issuer' && url?.pathname.includes('/.well-known/')) {
    // With such a URL openid-client would not compare the issuer's name.
    throw new Error("--issuer must be the issuer's own name: leave out what begins with /.well-known/");
  }
  if (url?.protocol === 'https:' && url.username === '' && url.password === '') return url;
  throw new Error(`--${name} must be an https:// URL without user and password`);
}

function secondsOf(text: string | undefined): number {
  const seconds = Number(text ?? '10');
  if (seconds > 0 && seconds <= 300) return seconds;
  throw new Error('--timeout-seconds must be a number between 0 and 300');
}
