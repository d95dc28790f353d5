/** Validates the options of an informer. */
import { z } from 'zod';
import { functionOf, resourceShape } from '../option-schemas.ts';

const positive = { error: 'must be a whole number of 1 or more' };
const wholeNumber = z.int(positive).min(1, positive);

/** @internal */
export const informerShape = {
  ...resourceShape,
  maxObjects: wholeNumber.optional(),
  maxBytes: wholeNumber.optional(),
  transform: functionOf('that returns what is kept of an object').optional(),
  indexers: z
    .record(z.string(), functionOf('that returns the values of an object'), { error: 'must be an object of functions' })
    .optional(),
};
/** @internal */
export const informerSchema = z.strictObject(informerShape, { error: 'must be an object with apiVersion and kind' });
