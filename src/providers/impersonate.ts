import { z } from 'zod';
import { type ImpersonationConfig, type ImpersonationHeaders, impersonationHeaders } from '../access/impersonation.ts';
import { checkArgument } from '../errors/check-argument.ts';
import { ConfigurationError, type Problem } from '../errors/index.ts';
import { parseOptionsWith, text } from '../options/option-schemas.ts';
import { isObject } from '../util/guards.ts';

/** Options of `getConfig`. */
export interface GetConfigOptions {
  /**
   * Requests act as this user, as with `as` in a kubeconfig.
   * @default the credential's own identity
   */
  readonly impersonate?: ImpersonationConfig;
}

const groups = z.array(text('the name of a group'), { error: 'must be a list of groups' });
const values = z.array(z.string({ error: 'must be text' }), { error: 'must be a list of text' });
const schema = z.strictObject({
  // A program that has no user by mistake must not act as itself: the field may be left out, but not be undefined.
  impersonate: z.strictObject(
    {
      user: text('the name of a user'),
      groups: groups.optional(),
      uid: text('the UID of a user').optional(),
      extra: z.record(z.string(), values, { error: 'must be an object that maps names to lists of text' }).optional(),
    },
    { error: 'must be an object: { user, groups, uid, extra }; leave it out to impersonate nobody' },
  ),
});

/** @throws {ConfigurationError} `OPTION_INVALID`, names every bad option */
export function readImpersonate(options: GetConfigOptions): ImpersonationHeaders {
  checkArgument('getConfig', 'options', options, isObject, 'an object: { impersonate }');
  if (Object.keys(options).length === 0) return {};
  const { impersonate } = parseOptionsWith(schema, options);
  const problems: Problem[] = [];
  const headers = impersonationHeaders(impersonate, (field, name, message) =>
    problems.push({ path: `impersonate.${field}${name === undefined ? '' : `.${name}`}`, message }),
  );
  if (problems.length > 0) throw new ConfigurationError('OPTION_INVALID', 'options', problems);
  return headers;
}
