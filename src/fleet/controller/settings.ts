/** The options of a controller as they are checked, and what the controller makes of them. */
import { z } from 'zod';
import { milliseconds, parseOptionsWith, text, wholeNumber } from '../../options/option-schemas.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import type { Informers } from '../informer/informers.ts';
import { informerShape } from '../informer/options.ts';
import { functionOf, profilesShape } from '../option-schemas.ts';
import type {
  CommonOptions,
  ControllerSource,
  ControllerWatch,
  FleetWatch,
  HubReconcileContext,
  ReconcileRequest,
  ReconcileReturn,
} from './options.ts';

interface Namespaces {
  readonly namespace?: unknown;
  readonly namespaces?: unknown;
}

/** A source, and what else there is where it is given. */
function sourceWith<More extends z.ZodRawShape>(more: More) {
  const shape = {
    ...informerShape,
    namespaces: profilesShape.namespaces,
    when: functionOf('that returns true or false').optional(),
    ...more,
  };
  return z
    .strictObject(shape, { error: 'must be an object with apiVersion and kind' })
    .refine(({ namespace, namespaces }: Namespaces) => namespace === undefined || namespaces === undefined, {
      path: ['namespaces'],
      error: 'is given beside namespace: leave one of the two out',
    });
}

/** A watch of any controller, as the schema has read it. */
export interface AnyWatch extends ControllerSource<KubernetesObject> {
  readonly on?: 'hub' | 'clusters' | undefined;
  map(object: KubernetesObject, context: { readonly cluster: Cluster | undefined }): readonly ReconcileRequest[];
}

/** With their defaults. */
export type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

/** The options of any controller, as the schema has read them. */
export interface ControllerSettings extends Complete<Omit<CommonOptions, 'backoff'>> {
  readonly for: ControllerSource<KubernetesObject> & { readonly on?: 'hub' };
  /** `for`, once for each of its namespaces, as `owns` and `watches` have each source. */
  readonly mains: readonly ControllerSource<KubernetesObject>[];
  readonly watches: readonly AnyWatch[];
  readonly fleetWatches: readonly Complete<FleetWatch>[];
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
  reconcile(
    request: ReconcileRequest,
    context: HubReconcileContext<KubernetesObject> & { readonly cluster: Cluster | undefined },
  ): ReconcileReturn;
}

type Parsed = Omit<ControllerSettings, 'mains' | 'watches' | 'fleetWatches'> & {
  readonly watches: readonly (AnyWatch | Complete<FleetWatch>)[];
};

/** @internal The settings of a controller, with a source for each namespace. */
export function readController(options: unknown): ControllerSettings {
  // The schema has checked every function; its types are the caller's.
  const { owns, watches, ...settings } = parseOptionsWith(controllerSchema, options) as object as Parsed;
  return {
    ...settings,
    mains: eachNamespace(settings.for),
    owns: owns.flatMap(eachNamespace),
    watches: watches.flatMap((watch) => (watch.on === 'fleet' ? [] : eachNamespace(watch))),
    fleetWatches: watches.flatMap((watch) => (watch.on === 'fleet' ? [watch] : [])),
  };
}

function eachNamespace<S extends ControllerSource<KubernetesObject>>({ namespaces, ...source }: S): readonly S[] {
  const each = namespaces ? namespaces.map((namespace) => ({ ...source, namespace })) : [source];
  return each as object[] as S[]; // without namespaces, which are optional
}

/** The informer of a source: sources that differ in their predicates share one. */
export function informerOf<T extends KubernetesObject>(informers: Informers, source: ControllerSource<T>): Informer<T> {
  const known = informers.bySource.get(source);
  if (known) return known as unknown as Informer<T>; // of the same source
  const { when: _when, map: _map, on: _on, ...options } = source as ControllerWatch<T>; // only a watch has a map
  const informer = informers.get<T>(options);
  informers.bySource.set(source, informer as unknown as Informer); // read as what every object is
  return informer;
}

const controllerSchema = z
  .strictObject({
    name: text('a name'),
    for: sourceWith({
      on: z.literal('hub', { error: 'must be hub, or left out for objects of clusters' }).optional(),
    }),
    owns: z.array(sourceWith({}), { error: 'must be a list of objects with apiVersion and kind' }).default([]),
    watches: z
      .array(
        z.discriminatedUnion(
          'on',
          [
            sourceWith({ on: z.enum(['hub', 'clusters']).optional(), map: functionOf('that returns requests') }),
            z.strictObject({
              on: z.literal('fleet'),
              graceMs: milliseconds(1).default(60_000),
              map: functionOf('that returns requests'),
            }),
          ],
          {
            error: ({ code }) =>
              code === 'invalid_union'
                ? 'must be hub, clusters or fleet'
                : 'must be an object with apiVersion, kind and map',
          },
        ),
        { error: 'must be a list of objects with apiVersion, kind and map' },
      )
      .default([]),
    concurrency: wholeNumber.default(100),
    perClusterConcurrency: wholeNumber.default(4),
    reconcileTimeoutMs: milliseconds(1).default(120_000),
    backoff: z
      .strictObject(
        { firstMs: milliseconds(1).default(5), longestMs: milliseconds(1).default(1_000_000) },
        { error: 'must be an object with firstMs and longestMs' },
      )
      .default({ firstMs: 5, longestMs: 1_000_000 }),
    reconcile: functionOf('reconcile(request, context)'),
  })
  .superRefine(({ for: main, watches }, { addIssue }) => {
    for (const [index, { on }] of watches.entries()) {
      if (main.on === 'hub' || on === 'hub' || on === undefined) continue;
      const message = `must be hub, or left out for objects of the same cluster: ${on} is for controllers with for.on: 'hub'`;
      addIssue({ code: 'custom', path: ['watches', index, 'on'], message });
    }
  });
