/** The options of `getConfig`. */
import { z } from 'zod';
import { type ImpersonationConfig, impersonationHeaders } from '../access/impersonation.ts';
import { checkArgument } from '../errors/index.ts';
import { parseOptionsWith, text } from '../options/option-schemas.ts';
import { Preview } from '../rest/request/previewed-writes.ts';
import { isObject } from '../util/guards.ts';

/** Options of `getConfig`. */
export interface GetConfigOptions {
  /**
   * Requests act as this user, as with `as` in a kubeconfig.
   * @default the credential's own identity
   */
  readonly impersonate?: ImpersonationConfig;
  /**
   * Changes nothing: every write is sent with `dryRun=All`, so that the server checks it, and what it would have changed is logged and
   * collected in `config.preview`. `exec`, `attach`, `portforward`, `proxy`, `token`, WebSockets and `config.credential()` are refused. An
   * own `Preview` collects for several configs.
   *
   * @default false
   */
  readonly preview?: boolean | Preview | undefined;
}

const groups = z.array(text('the name of a group'), { error: 'must be a list of groups' });
const values = z.array(z.string({ error: 'must be text' }), { error: 'must be a list of text' });
const preview = z
  .union([z.boolean(), z.instanceof(Preview)], { error: 'must be true, false or new Preview()' })
  .optional()
  .transform((given) => (given === true ? new Preview() : given || undefined));

const schema = z.strictObject({
  preview,
  // A program that has no user by mistake must not act as itself: the field may be left out, but not be undefined.
  impersonate: z
    .strictObject(
      {
        user: text('the name of a user'),
        groups: groups.optional(),
        uid: text('the UID of a user').optional(),
        extra: z.record(z.string(), values, { error: 'must be an object that maps names to lists of text' }).optional(),
      },
      { error: 'must be an object: { user, groups, uid, extra }; leave it out to impersonate nobody' },
    )
    .superRefine((impersonate, context) => {
      impersonationHeaders(impersonate, (field, name, message) =>
        context.addIssue({ code: 'custom', path: name === undefined ? [field] : [field, name], message }),
      );
    })
    .exactOptional(),
});

/** @internal @throws {ConfigurationError} `OPTION_INVALID`, names every bad option */
export function readConfigOptions(options: GetConfigOptions): z.output<typeof schema> {
  checkArgument('getConfig', 'options', options, isObject, 'an object: { impersonate, preview }');
  return parseOptionsWith(schema, options);
}
