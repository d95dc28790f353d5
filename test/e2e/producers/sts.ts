/** AWS STS as far as IAM roles for service accounts and aws-iam-authenticator need it: it checks web identities and signatures. */
import { createHash, createHmac, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { Internet } from './internet.ts';

const host = 'sts.eu-west-1.amazonaws.com';
const account = '123456789012';

/** Gives keys of a role to who brings its web identity, and says whose key has signed a request. */
export async function startSts(internet: Internet, identities: Readonly<Record<string, string>>) {
  /** What was asked of it, the newest last. */
  const actions: string[] = [];
  /** Secret, and session token, by access key. */
  const keys = new Map<string, { readonly secret: string; readonly session: string; readonly role: string }>();

  const assumeRole = (form: URLSearchParams, response: ServerResponse) => {
    const arn = form.get('RoleArn') ?? '';
    const role = arn.split('/')[1] ?? '';
    if (form.get('WebIdentityToken') !== identities[arn]) {
      response.writeHead(400, { 'content-type': 'text/xml' }).end(
        xml('ErrorResponse', {
          Error: { Type: 'Sender', Code: 'InvalidIdentityToken', Message: 'No OpenIDConnect provider found' },
        }),
      );
      return;
    }
    const id = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`;
    const key = { secret: randomBytes(20).toString('hex'), session: randomBytes(20).toString('hex'), role };
    keys.set(id, key);
    const Expiration = new Date(Date.now() + 3_600_000).toISOString();
    const Credentials = { AccessKeyId: id, SecretAccessKey: key.secret, SessionToken: key.session, Expiration };
    const AssumedRoleUser = { Arn: `arn:aws:sts::${account}:assumed-role/${role}/s`, AssumedRoleId: 'AROA:s' };
    const AssumeRoleWithWebIdentityResult = { Credentials, AssumedRoleUser };
    response
      .writeHead(200, { 'content-type': 'text/xml' })
      .end(xml('AssumeRoleWithWebIdentityResponse', { AssumeRoleWithWebIdentityResult }));
  };
  const callerIdentity = (request: IncomingMessage, url: URL, response: ServerResponse) => {
    const send = (status: number, body: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const key = keys.get((url.searchParams.get('X-Amz-Credential') ?? '').split('/')[0] ?? '');
    const isSigned = key && signatureOf(request, url, key.secret) === url.searchParams.get('X-Amz-Signature');
    if (!isSigned || url.searchParams.get('X-Amz-Security-Token') !== key.session) {
      return send(403, { Error: { Code: 'SignatureDoesNotMatch', Message: 'the signature is another one' } });
    }
    const Arn = `arn:aws:sts::${account}:assumed-role/${key.role}/s`;
    const GetCallerIdentityResult = { Account: account, Arn, UserId: 'AROA:s' };
    return send(200, { GetCallerIdentityResponse: { GetCallerIdentityResult } });
  };
  await internet.serve(host, async (request, response) => {
    const url = new URL(request.url ?? '/', `https://${host}`);
    const form = new URLSearchParams(await text(request));
    const action = form.get('Action') ?? url.searchParams.get('Action') ?? '';
    actions.push(action);
    if (action === 'AssumeRoleWithWebIdentity') assumeRole(form, response);
    else if (action === 'GetCallerIdentity') callerIdentity(request, url, response);
    else response.writeHead(400).end();
  });
  return { actions };
}

function xml(name: string, value: object | string): string {
  const inner =
    typeof value === 'string'
      ? value
      : Object.entries(value)
          .map(([key, entry]) => xml(key, entry))
          .join('');
  return `<${name}>${inner}</${name}>`;
}

const encode = (part: string) =>
  encodeURIComponent(part).replace(/[!'()*]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);
const sha256 = (data: string) => createHash('sha256').update(data).digest('hex');
const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest();

/** The signature of a presigned URL (AWS Signature Version 4), from what was really requested. */
function signatureOf({ method = '', headers }: IncomingMessage, url: URL, secret: string): string {
  const query = [...url.searchParams]
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${encode(name)}=${encode(value)}`)
    .toSorted();
  const signed = url.searchParams.get('X-Amz-SignedHeaders') ?? '';
  const lines = signed.split(';').map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`);
  const canonical = [method, url.pathname, query.join('&'), lines.join(''), signed, sha256('')].join('\n');
  const [, ...scope] = (url.searchParams.get('X-Amz-Credential') ?? '').split('/');
  const date = url.searchParams.get('X-Amz-Date') ?? '';
  const toSign = ['AWS4-HMAC-SHA256', date, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>((previous, part) => hmac(previous, part), `AWS4${secret}`);
  return hmac(key, toSign).toString('hex');
}
