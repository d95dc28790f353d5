/** Describes certificates, and how long they are valid. */
import type { X509Certificate } from 'node:crypto';
import type { ResolvedCluster } from '../access/cluster.ts';
import { unbracket } from '../util/hosts.ts';
import { printable } from '../util/printable.ts';

const dayMs = 86_400_000;
/** Warns about a certificate that expires sooner, unless it is short-lived and has a fifth of its lifetime left. */
const soonMs = 14 * dayMs;
/** The most bytes of a text that the server has written. */
const maxBytes = 512;

export function describeCertificate(
  { subjectAltName, subject, issuer, validFrom, validTo }: X509Certificate,
  { server, tlsServerName, insecureSkipTlsVerify }: ResolvedCluster,
): { readonly message: string; readonly warnings: readonly string[] } {
  const name = tlsServerName ?? unbracket(new URL(server).hostname);
  const left = Date.parse(validTo) - Date.now();
  const endsSoon = left < soonMs && left < (Date.parse(validTo) - Date.parse(validFrom)) / 5;
  const names = subjectAltName ?? subject;
  const warnings = [
    ...(insecureSkipTlsVerify ? [`nothing is verified: the certificate is for ${names ?? 'no name'}`] : []),
    ...(endsSoon ? [`the server's certificate ends in ${formatDuration(left)}: renew it`] : []),
  ].map((warning) => printable(warning, maxBytes));
  const by = nameOf(issuer);
  return { message: printable(`${name}, certificate by ${by}, ${formatDuration(left)} left`, maxBytes), warnings };
}

/** The common name of a distinguished name of a certificate, else all of it. */
export function nameOf(distinguished: string | undefined): string {
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
