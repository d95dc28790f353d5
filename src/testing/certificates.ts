import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign,
} from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import { bits, boolean, context, integer, objectIdentifier, octets, sequence, set, time, utf8 } from './der.ts';

/** A certificate and its private key, PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** What a certificate is issued for, and for how long. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  /** IPv4 or IPv6. */
  readonly ipAddresses?: readonly string[];
  /** @default an hour ago */
  readonly notBefore?: Date;
  /** @default in a day */
  readonly notAfter?: Date;
  /**
   * For a client rather than a server.
   * @default false
   */
  readonly client?: boolean;
  /**
   * Bits of an RSA key.
   * @default an EC key, P-256
   */
  readonly rsaBits?: number;
}

/** A throw-away certificate authority. */
export interface CertificateAuthority {
  /** The authority's own certificate, PEM. */
  readonly certificate: string;
  /** Issues a certificate for a server, or for a client. */
  issue(request: CertificateRequest): IssuedCertificate;
}

const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
const hour = 3_600_000;

/** Creates a certificate authority (EC P-256), in memory only. */
export function createCertificateAuthority(name = 'fake-cluster-ca'): CertificateAuthority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { name: distinguishedName(name, []), privateKey };
  const now = Date.now();
  const lifetime = { notBefore: new Date(now - hour), notAfter: new Date(now + 24 * hour) };
  return {
    certificate: build(issuer, issuer.name, publicKey, lifetime, [
      extension('2.5.29.19', sequence(boolean(true)), true),
      // keyCertSign and cRLSign.
      extension('2.5.29.15', bits(Buffer.from([0x06]), 1), true),
    ]),
    issue: (request) => issueAs(issuer, request),
  };
}

/** The issuer of a certificate: a name and a key, of an authority or not. */
interface Issuer {
  readonly name: Buffer;
  readonly privateKey: KeyObject;
}

/** @internal Issues with the key of a certificate that is not an authority. */
export function issueWith(
  { key, commonName }: { readonly key: string; readonly commonName: string },
  request: CertificateRequest,
): IssuedCertificate {
  return issueAs({ name: distinguishedName(commonName, []), privateKey: createPrivateKey(key) }, request);
}

function issueAs(
  issuer: Issuer,
  {
    commonName,
    organizations = [],
    dnsNames = [],
    ipAddresses = [],
    notBefore = new Date(Date.now() - hour),
    notAfter = new Date(Date.now() + 24 * hour),
    client = false,
    rsaBits,
  }: CertificateRequest,
): IssuedCertificate {
  const pair =
    rsaBits === undefined
      ? generateKeyPairSync('ec', { namedCurve: 'P-256' })
      : generateKeyPairSync('rsa', { modulusLength: rsaBits });
  const names = [
    ...dnsNames.map((dnsName) => context(2, Buffer.from(dnsName))),
    ...ipAddresses.map((address) => context(7, addressBytes(address))),
  ];
  const subject = distinguishedName(commonName, organizations);
  const certificate = build(issuer, subject, pair.publicKey, { notBefore, notAfter }, [
    extension('2.5.29.19', sequence(), true),
    extension('2.5.29.15', bits(Buffer.from([0x80]), 7), true),
    // Client or server authentication.
    extension('2.5.29.37', sequence(objectIdentifier(`1.3.6.1.5.5.7.3.${client ? 2 : 1}`))),
    ...(names.length > 0 ? [extension('2.5.29.17', sequence(...names))] : []),
  ]);
  return { certificate, key: pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() };
}

function build(
  issuer: Issuer,
  subject: Buffer,
  subjectKey: KeyObject,
  { notBefore, notAfter }: { readonly notBefore: Date; readonly notAfter: Date },
  extensions: readonly Buffer[],
): string {
  const identifiers = [
    extension('2.5.29.14', octets(keyId(subjectKey))),
    extension('2.5.29.35', sequence(context(0, keyId(createPublicKey(issuer.privateKey))))),
  ];
  const body = sequence(
    context(0, integer(Buffer.from([2])), true),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    issuer.name,
    sequence(time(notBefore), time(notAfter)),
    subject,
    subjectKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(...extensions, ...identifiers), true),
  );
  return pem(sequence(body, ecdsaWithSha256, bits(sign('sha256', body, issuer.privateKey))));
}

function distinguishedName(commonName: string, organizations: readonly string[]): Buffer {
  const attribute = (oid: string, value: string) => set(sequence(objectIdentifier(oid), utf8(value)));
  return sequence(...organizations.map((name) => attribute('2.5.4.10', name)), attribute('2.5.4.3', commonName));
}

function extension(oid: string, value: Buffer, critical = false): Buffer {
  return sequence(objectIdentifier(oid), ...(critical ? [boolean(true)] : []), octets(value));
}

function keyId(key: KeyObject): Buffer {
  return createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  if (!isIPv6(address)) throw new TypeError(`${address} is not an IP address`);
  // The longest run of zeros is what :: stands for.
  const groups = (part: string) => (part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16)));
  const [left = [], right = []] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').map(groups);
  const zeros = new Array(8 - left.length - right.length).fill(0);
  return Buffer.from([...left, ...zeros, ...right].flatMap((group) => [group >> 8, group & 0xff]));
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`;
}
