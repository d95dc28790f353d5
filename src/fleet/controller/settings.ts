/** The options of a controller as they are checked, and what the controller makes of them. */
import { z } from 'zod';
import { milliseconds, parseOptionsWith, text, wholeNumber } from '../../options/option-schemas.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import type { Informer } from '../informer/informer.ts';
import type { Informers } from '../informer/informers.ts';
import { type InformerOptions, informerShape } from '../informer/options.ts';
import { functionOf, profilesShape } from '../option-schemas.ts';
import type { ReconcileTrigger } from '../telemetry.ts';
import type {
  CommonOptions,
  ControllerSource,
  ControllerWatch,
  FleetWatch,
  HubReconcileContext,
  ReconcileRequest,
  ReconcileReturn,
} from './options.ts';
import { ownersOf, requestOf } from './requests.ts';

type Namespaces = Partial<Record<'namespace' | 'namespaces', unknown>>;

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

/** With their defaults. */
type Complete<T> = { readonly [K in keyof T]-?: Exclude<T[K], undefined> };

/** A resource whose changes lead to reconciles, in one of its namespaces. */
export interface Source {
  readonly role: NonNullable<ReconcileTrigger['source']>;
  /** Where its objects are. */
  readonly on: 'hub' | 'clusters';
  /** What its cache holds. The cache is found by this object, so it stays the same. */
  readonly resource: InformerOptions<KubernetesObject>;
  readonly when: ControllerSource<KubernetesObject>['when'];
  /** `areNamespaced`: the objects that are reconciled. May throw: a watch calls the caller's `map`. */
  requestsOf(object: KubernetesObject, cluster: Cluster | undefined, areNamespaced: boolean): unknown;
}

/** The options of any controller, as the schema has read them. */
export interface ControllerSettings extends Complete<Omit<CommonOptions, 'owns' | 'backoff'>> {
  /** Where the objects are that it reconciles. */
  readonly on: Source['on'];
  readonly sources: readonly Source[];
  readonly fleetWatches: readonly Complete<FleetWatch>[];
  readonly backoff: { readonly firstMs: number; readonly longestMs: number };
  reconcile(
    request: ReconcileRequest,
    context: HubReconcileContext<KubernetesObject> & { readonly cluster: Cluster | undefined },
  ): ReconcileReturn;
}

/** A watch of any controller. */
interface AnyWatch extends ControllerSource<KubernetesObject> {
  readonly on?: Source['on'];
  map(object: KubernetesObject, context: { readonly cluster: Cluster | undefined }): unknown;
}

interface Parsed extends Omit<ControllerSettings, 'on' | 'sources' | 'fleetWatches'> {
  readonly for: ControllerSource<KubernetesObject> & { readonly on?: 'hub' };
  readonly owns: readonly ControllerSource<KubernetesObject>[];
  readonly watches: readonly (AnyWatch | Complete<FleetWatch>)[];
}

/** @internal The settings of a controller, with a source for each namespace. */
export function readController(options: unknown): ControllerSettings {
  // The schema has checked every function; its types are the caller's.
  const { for: main, owns, watches, ...settings } = parseOptionsWith(controllerSchema, options) as object as Parsed;
  const { on = 'clusters' } = main;
  const ownerOf: Source['requestsOf'] = (object, _, areNamespaced) => ownersOf(object, main, areNamespaced);
  return {
    ...settings,
    on,
    sources: [
      ...eachNamespace(main, { role: 'for', on, requestsOf: (object) => [requestOf(object)] }),
      ...owns.flatMap((source) => eachNamespace(source, { role: 'owns', on, requestsOf: ownerOf })),
      ...watches.flatMap((watch) => {
        if (watch.on === 'fleet') return [];
        const requestsOf: Source['requestsOf'] = (object, cluster) => watch.map(object, { cluster });
        return eachNamespace(watch, { role: 'watches', on: watch.on ?? on, requestsOf });
      }),
    ],
    fleetWatches: watches.filter((watch) => watch.on === 'fleet'),
  };
}

function eachNamespace(
  given: ControllerSource<KubernetesObject>,
  source: Pick<Source, 'role' | 'on' | 'requestsOf'>,
): readonly Source[] {
  const { namespaces, when, map: _map, on: _on, ...resource } = given as ControllerWatch<KubernetesObject>; // only a watch has a map
  const resources = namespaces?.map((namespace) => ({ ...resource, namespace })) ?? [resource];
  return resources.map((one) => ({ ...source, when, resource: one }));
}

/** The informer of a source: sources that differ in their predicates share one. */
export function informerOf(informers: Informers, { resource }: Source): Informer {
  const informer = informers.bySource.get(resource) ?? informers.get(resource);
  informers.bySource.set(resource, informer);
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
