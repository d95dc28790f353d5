/** What is looked at of an informer's options, wherever they come in. */
import { z } from 'zod';
import { functionOf, resourceShape } from '../option-schemas.ts';

/** @internal */
export const informerShape = {
  ...resourceShape,
  transform: functionOf('that returns what is kept of an object').optional(),
  indexers: z
    .record(z.string(), functionOf('that returns the values of an object'), { error: 'must be an object of functions' })
    .optional(),
};
/** @internal */
export const informerSchema = z.strictObject(informerShape, { error: 'must be an object with apiVersion and kind' });
