/** The arguments of `oidc-credentials`: where a token comes from, how the client proves who it is, and whom the token is for. */
import { parseArgs } from 'node:util';
import { httpsUrl } from '../cloud/call.ts';
import { once, refuseEmpty } from '../program.ts';

/** JWS algorithms (RFC 7518, RFC 8037). */
export const keyAlgorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'] as const;
export type KeyAlgorithm = (typeof keyAlgorithms)[number];

export const usage = `Usage: oidc-credentials --issuer URL --client-id ID [PROOF] [--subject-token-file FILE] [OPTION]...
       oidc-credentials --azure | --azure-managed-identity [CLIENT-ID]
       oidc-credentials --token-file FILE

A credential plugin (KEP-541), run by a Kubernetes client. Prints a token of an OAuth 2.0 or OpenID Connect issuer: for the client
itself (client credentials), or in exchange for the token in a file (RFC 8693).
  --issuer URL               issuer URL; its token endpoint is discovered (OpenID Connect Discovery)
  --token-endpoint URL       token endpoint of an issuer without metadata
  --client-id ID             client ID registered with the issuer
PROOF, one of; omit it for a public client (token exchange only):
  --client-secret-file FILE  secret, sent as HTTP Basic
  --client-key-file FILE     private key (PEM) for private_key_jwt. Optional: --client-key-id, and --client-key-algorithm
                             (${keyAlgorithms.join(', ')})
  --client-assertion-file FILE
                             JWT of another issuer for this client, such as the pod's projected token
  --subject-token-file FILE  token to exchange; a JWT, unless --subject-token-type names another type (a URN)
What to ask for:
  --scope SCOPE              may be repeated
  --audience NAME            audience of the token; may be repeated
  --resource URL             resource (RFC 8707); may be repeated
  --profile-audience PATTERN let the profile name the audience in its exec extension, { audience }; a * matches any text.
                             May be repeated
  --id-token                 print the ID token instead of the access token
  --ca-file FILE             trust only these CAs (PEM)
  --timeout-seconds N        for each request to the issuer; default 10
AKS, for the Entra application of its API servers:
  --azure                    Microsoft Entra Workload ID: AZURE_CLIENT_ID, AZURE_TENANT_ID, AZURE_FEDERATED_TOKEN_FILE and
                             AZURE_AUTHORITY_HOST, which its webhook sets
  --azure-managed-identity [CLIENT-ID]
                             managed identity of the machine, or the user-assigned one with this client ID (IMDS)
A file:
  --token-file FILE          print the JWT in this file
Files are read at each run, so tokens and secrets may be replaced at any time.`;

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
  azure: { type: 'boolean', default: false },
  'azure-managed-identity': single,
  'ca-file': single,
  'timeout-seconds': single,
  scope: many,
  audience: many,
  resource: many,
  'profile-audience': many,
  'id-token': { type: 'boolean', default: false },
} as const;
type Name = keyof typeof options;

const valuesOf = (args: readonly string[]) =>
  parseArgs({ args: withOptionalValue(args, '--azure-managed-identity'), options }).values;
/** The value of an option that may be given once. */
type One = (name: Name) => string | undefined;
/** Each says by itself where the token comes from. Without one it is an issuer. */
const sources = ['azure-managed-identity', 'azure', 'token-file'] as const;

/** Where the token comes from. Throws an error whose message says what to write instead. */
export function readSettings(args: readonly string[]) {
  const values = valuesOf(args);
  const one: One = (name) => {
    const given = values[name];
    return Array.isArray(given) ? once(name, given) : undefined;
  };
  const isGiven = (value: unknown) => (Array.isArray(value) ? value.length > 0 : value === true);
  const given = Object.entries(values).flatMap(([name, value]) => (isGiven(value) ? [name] : []));
  const source = sources.find((name) => given.includes(name));
  const others = given.filter((name) => name !== source).map((name) => `--${name}`);
  if (source && others.length > 0) throw new Error(`--${source} cannot be combined with ${others.join(', ')}`);
  // The client ID may be left out.
  if (source !== 'azure-managed-identity') refuseEmpty(values);
  return {
    source,
    /** The ID of a user-assigned identity. */
    client: one('azure-managed-identity') || undefined,
    tokenFile: one('token-file'),
    issuer: source ? undefined : readIssuer(values, one),
  };
}

export type IssuerSettings = ReturnType<typeof readIssuer>;

function readIssuer(values: ReturnType<typeof valuesOf>, one: One) {
  const issuer = urlOf('issuer', one('issuer'));
  const tokenEndpoint = urlOf('token-endpoint', one('token-endpoint'));
  const url = issuer ?? tokenEndpoint;
  if (!url || (issuer && tokenEndpoint)) {
    const sources = '--issuer, --token-endpoint, --azure, --azure-managed-identity and --token-file';
    throw new Error(`give one of ${sources}: it says where the token comes from`);
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
  if (!proof && subjectFile === undefined) {
    const known = '--client-secret-file, --client-key-file and --client-assertion-file';
    throw new Error(`nothing says who this client is: add one of ${known}, or a --subject-token-file to exchange`);
  }
  if (values['id-token'] && !issuer) {
    throw new Error('--id-token needs --issuer: the ID token names its issuer, and is checked against it');
  }
  const subjectType = type ?? 'urn:ietf:params:oauth:token-type:jwt';
  return {
    url,
    /** Whether the URL is the issuer's own, whose token endpoint is discovered, and not that of a token endpoint. */
    isIssuer: issuer !== undefined,
    clientId,
    proof,
    /** The token that is exchanged. Without it the client gets a token for itself. */
    subject: subjectFile === undefined ? undefined : { file: subjectFile, type: subjectType },
    scopes: values.scope,
    audiences: values.audience,
    resources: values.resource,
    /** Audiences that a profile may name. */
    profileAudiences: values['profile-audience'],
    wantsIdToken: values['id-token'],
    caFile: one('ca-file'),
    timeoutSeconds: secondsOf(one('timeout-seconds')),
  };
}

/** `parseArgs` has no options whose value may be left out: the empty text stands for none. */
function withOptionalValue(args: readonly string[], option: string): string[] {
  return args.flatMap((argument, index) => {
    if (argument === option) {
      const next = args[index + 1];
      return next === undefined || next.startsWith('-') ? [`${option}=`] : [`${option}=${next}`];
    }
    return args[index - 1] === option && !argument.startsWith('-') ? [] : [argument];
  });
}

const proofs = ['client-secret-file', 'client-key-file', 'client-assertion-file'] as const;

/** How the client proves to the issuer who it is; `undefined` for a public client. */
function readProof(one: One) {
  const [first, second] = proofs.flatMap((kind) => {
    const file = one(kind);
    return file === undefined ? [] : [{ kind, file }];
  });
  if (first && second) throw new Error(`--${first.kind} and --${second.kind} are two proofs: keep one`);
  const keyId = one('client-key-id');
  const named = one('client-key-algorithm');
  if (first?.kind !== 'client-key-file' && (keyId !== undefined || named !== undefined)) {
    throw new Error('--client-key-id and --client-key-algorithm need --client-key-file');
  }
  const algorithm = keyAlgorithms.find((known) => known === named);
  if (named !== undefined && algorithm === undefined) {
    throw new Error(`--client-key-algorithm ${named} must be one of ${keyAlgorithms.join(', ')}`);
  }
  return first && { ...first, keyId, algorithm };
}

/** Throws unless it is https, since a secret is sent there. */
function urlOf(name: Name, text: string | undefined): URL | undefined {
  if (text === undefined) return undefined;
  if (name === 'issuer' && URL.parse(text)?.pathname.includes('/.well-known/')) {
    // With such a URL openid-client would not compare the issuer's name.
    throw new Error("--issuer must be the issuer's own name: leave out what begins with /.well-known/");
  }
  return httpsUrl(`--${name}`, text);
}

function secondsOf(text: string | undefined): number {
  const seconds = Number(text ?? '10');
  if (seconds > 0 && seconds <= 300) return seconds;
  throw new Error('--timeout-seconds must be a number between 0 and 300');
}
