/** Throw-away certificates and authorities, in memory only. */
import {
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyLike,
  type KeyObject,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';

/** A certificate and its private key, PEM. */
export interface IssuedCertificate {
  readonly certificate: string;
  readonly key: string;
}

/** What a certificate is issued for, and for how long. */
export interface CertificateRequest {
  readonly commonName: string;
  readonly organizations?: readonly string[] | undefined;
  readonly dnsNames?: readonly string[] | undefined;
  /** IPv4 or IPv6. */
  readonly ipAddresses?: readonly string[] | undefined;
  /** @default an hour ago */
  readonly notBefore?: Date | undefined;
  /** @default in a day */
  readonly notAfter?: Date | undefined;
  /**
   * For a client rather than a server.
   * @default false
   */
  readonly client?: boolean | undefined;
  /**
   * Bits of an RSA key.
   * @default an EC key, P-256
   */
  readonly rsaBits?: number | undefined;
}

/** A throw-away certificate authority. */
export interface CertificateAuthority {
  /** The authority's own certificate, PEM. */
  readonly certificate: string;
  /** Issues a certificate for a server, or for a client. */
  issue(request: CertificateRequest): IssuedCertificate;
}

// Just enough DER to write a certificate.

function tagged(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

const sequence = (...parts: readonly Buffer[]): Buffer => tagged(0x30, ...parts);
const set = (...parts: readonly Buffer[]): Buffer => tagged(0x31, ...parts);
const boolean = (value: boolean): Buffer => tagged(0x01, Buffer.from([value ? 0xff : 0]));
/** Most significant byte first, which is less than 0x80. */
const integer = (value: Buffer): Buffer => tagged(0x02, value);
const octets = (value: Buffer): Buffer => tagged(0x04, value);
const bits = (value: Buffer, unused = 0): Buffer => tagged(0x03, Buffer.from([unused]), value);
const utf8 = (value: string): Buffer => tagged(0x0c, Buffer.from(value));
/** A value in the `[number]` that a schema gives it; `constructed` if it holds other values. */
const context = (number: number, value: Buffer, constructed = false): Buffer =>
  tagged((constructed ? 0xa0 : 0x80) | number, value);

function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const digits = [part & 0x7f];
    for (let value = part >> 7; value > 0; value >>= 7) digits.unshift((value & 0x7f) | 0x80);
    bytes.push(...digits);
  }
  return tagged(0x06, Buffer.from(bytes));
}

/** GeneralizedTime, or UTCTime before 2050 as RFC 5280 asks. */
function time(date: Date): Buffer {
  const text = date.toISOString().replace(/[-:T]|\.\d+/g, '');
  return date.getUTCFullYear() < 2050 ? tagged(0x17, Buffer.from(text.slice(2))) : tagged(0x18, Buffer.from(text));
}

const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'));
const hour = 3_600_000;

/** Creates a certificate authority (EC P-256), in memory only. */
export function createCertificateAuthority(name = 'fake-cluster-ca'): CertificateAuthority {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const issuer = { commonName: name, key: privateKey };
  return {
    certificate: build(issuer, distinguishedName(name, []), publicKey, {}, [
      extension('2.5.29.19', sequence(boolean(true)), true),
      // keyCertSign and cRLSign.
      extension('2.5.29.15', bits(Buffer.from([0x06]), 1), true),
    ]),
    issue: (request) => issueWith(issuer, request),
  };
}

interface Issuer {
  readonly commonName: string;
  readonly key: KeyLike;
}

/** @internal The issuer may be one that is not an authority. */
export function issueWith(
  issuer: Issuer,
  {
    commonName,
    organizations = [],
    dnsNames = [],
    ipAddresses = [],
    client = false,
    rsaBits,
    ...lifetime
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
  const certificate = build(issuer, subject, pair.publicKey, lifetime, [
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
  lifetime: Pick<CertificateRequest, 'notBefore' | 'notAfter'>,
  extensions: readonly Buffer[],
): string {
  const { notBefore = new Date(Date.now() - hour), notAfter = new Date(Date.now() + 24 * hour) } = lifetime;
  const identifiers = [
    extension('2.5.29.14', octets(keyId(subjectKey))),
    extension('2.5.29.35', sequence(context(0, keyId(createPublicKey(issuer.key))))),
  ];
  const body = sequence(
    context(0, integer(Buffer.from([2])), true),
    integer(Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    ecdsaWithSha256,
    distinguishedName(issuer.commonName, []),
    sequence(time(notBefore), time(notAfter)),
    subject,
    subjectKey.export({ type: 'spki', format: 'der' }),
    context(3, sequence(...extensions, ...identifiers), true),
  );
  const certificate = sequence(body, ecdsaWithSha256, bits(sign('sha256', body, issuer.key)));
  return new X509Certificate(certificate).toString();
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
