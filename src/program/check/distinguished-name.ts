/** The common name of a distinguished name of a certificate, else all of it. */
export function nameOf(distinguished: string | undefined): string {
  return /^CN=(.*)$/m.exec(distinguished ?? '')?.[1] ?? distinguished?.replaceAll('\n', ', ') ?? 'nobody';
}
