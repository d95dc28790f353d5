/** What is looked at of an informer's options, wherever they come in. */
import { z } from 'zod';
import { isFunction } from '../../option-schemas.ts';

/** @internal */
export const text = (what: string) => z.string({ error: `must be ${what}` }).min(1, { error: `must be ${what}` });
/** @internal */
export const functionOf = (what: string) => z.custom<never>(isFunction, { error: `must be a function ${what}` });

/** @internal */
export const informerShape = {
  apiVersion: text('v1, or group/version'),
  kind: text('a kind, for example Pod'),
  namespace: text('the name of a namespace').optional(),
  labelSelector: z.string({ error: 'must be a label selector' }).optional(),
  fieldSelector: z.string({ error: 'must be a field selector' }).optional(),
  keepManagedFields: z.boolean({ error: 'must be true or false' }).optional(),
  transform: functionOf('that returns what is kept of an object').optional(),
  indexers: z
    .record(z.string(), functionOf('that returns the values of an object'), { error: 'must be an object of functions' })
    .optional(),
};
/** @internal */
export const informerSchema = z.strictObject(informerShape, { error: 'must be an object with apiVersion and kind' });
