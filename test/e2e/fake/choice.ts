// What a random request is made of: a kind, a place, a name, and earlier answers to refer to.
import { isObject, type Json, type JsonObject } from '../../../src/testing/api/json.ts';
import type { Random } from '../../fixtures/random.ts';
import type { Kind } from './kinds.ts';
import type { Sent, Side } from './sides.ts';

/** A request, made for each side of what that side has answered before. */
export interface Step {
  readonly make: (side: Side) => Sent;
  /** What its answer can be used for. */
  readonly gives?: { readonly kind: Kind; readonly namespace: string | undefined; readonly list?: boolean };
}

/** An earlier step that was answered with an object or a list. */
export interface Earlier {
  readonly index: number;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly list: boolean;
}

export interface Choice {
  readonly random: Random;
  readonly kind: Kind;
  readonly namespace: string | undefined;
  readonly name: string;
  readonly earlier: readonly Earlier[];
}

export const metaOf = (object: Json | undefined): JsonObject =>
  isObject(object) && isObject(object.metadata) ? object.metadata : {};
