// What the generated kubeconfigs and answers are made of.
import fc from 'fast-check';
import { stringify } from 'yaml';
import { createCertificateAuthority } from '../../src/testing/index.ts';

export const authority = createCertificateAuthority('generated');
const issue = () => authority.issue({ commonName: 'generated', client: true });
export const [first, second] = [issue(), issue()];

export const rarely = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ weight: 8, arbitrary: fc.constant(undefined) }, arbitrary);
/** Mostly the usual, now and then the odd. */
export const mostly = <T>(usual: fc.Arbitrary<T>, odd: fc.Arbitrary<T>, weight = 40): fc.Arbitrary<T> =>
  fc.oneof({ weight, arbitrary: usual }, odd);
export const group = 'client.authentication.k8s.io/';
export const v1 = `${group}v1`;
export const notText = fc.constantFrom<unknown>(7, true, [], {}, ['x'], null);
export const written = (value: unknown) =>
  fc.constantFrom(
    JSON.stringify(value),
    JSON.stringify(value, null, 2),
    // Long lines stay whole: how they are folded is not what is compared.
    stringify(JSON.parse(JSON.stringify(value)), { version: '1.1', lineWidth: 0 }),
  );
