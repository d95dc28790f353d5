import type { ConfigAccess, ResolvedExec } from './resolve.ts';

const inspectCustom = Symbol.for('nodejs.util.inspect.custom');

/**
 * Returns an access that prints the values of its variables as `[redacted]`: the operator configured them, and may have put a secret
 * there. Code reads them as before. `inspect` always hides them; with `json`, `JSON.stringify` does too.
 */
export function printedWithoutValues<T extends ConfigAccess>(access: T, { json }: { readonly json: boolean }): T {
  const { exec: given } = access;
  if (!given) return access;
  const hidden = (): ResolvedExec => ({
    ...given,
    env: given.env.map(({ name }) => ({ name, value: '[redacted]' })),
  });
  // Not enumerable: code, comparisons and copies see plain data.
  const exec = Object.defineProperty({ ...given }, inspectCustom, { value: hidden });
  if (json) Object.defineProperty(exec, 'toJSON', { value: hidden });
  return { ...access, exec };
}
