/** What the reconciles of a controller have written in one place, until the next reconcile of the same item: it waits for the caches that select it. */
import type { ObservedWrite } from '../../observability/telemetry.ts';
import { keyOfName } from '../../rest/api/kubernetes-object.ts';
import { abortable } from '../../util/abortable.ts';
import type { Clock } from '../clock.ts';
import type { Informer } from '../informer/informer.ts';
import { isVersion } from '../reflect/events.ts';
import type { ReflectedResource } from '../reflect/reflector.ts';
import type { WrittenObject } from './options.ts';
import { isOfKind } from './requests.ts';

/** Milliseconds that a reconcile waits for its caches. */
const longestWaitMs = 10_000;

/** What one item waits for. */
interface Awaited {
  /** The newest version of each cache that it has to see. */
  readonly versions: Map<Informer, string>;
  /** Objects that were deleted: a cache no longer has them, or shows that they are being deleted. */
  readonly gone: { readonly informer: Informer; readonly key: string; readonly uid: string }[];
}

type Named = WrittenObject & { readonly metadata?: { readonly name?: string; readonly uid?: string } };

export class Written {
  /** By the dispatcher of a server's config; by default those of its own place. */
  readonly #cachesOf: (server: object | undefined) => readonly Informer[];
  readonly #clock: Clock;
  readonly #items = new Map<string, Awaited>();
  /** Answers that were observed: `wrote` need not be called for them. */
  readonly #observed = new WeakSet<object>();

  constructor(cachesOf: (server: object | undefined) => readonly Informer[], clock: Clock) {
    this.#cachesOf = cachesOf;
    this.#clock = clock;
  }

  has(key: string): boolean {
    return this.#items.has(key);
  }

  /** A request of the item has written, or deleted. */
  observe(item: string, { dispatcher, answer, ...write }: ObservedWrite): void {
    const object = Object(answer) as Named & { readonly details?: { readonly uid?: string } }; // an API server's own
    this.#observed.add(object);
    const { metadata, details } = object;
    if (!write.isDelete) {
      this.#expect(item, { ...object, apiVersion: write.apiVersion, kind: write.kind }, dispatcher);
      return;
    }
    const uid = metadata?.uid ?? details?.uid;
    const key = keyOfName({ name: write.name ?? '', namespace: metadata?.namespace ?? write.namespace });
    for (const informer of this.#cachesOf(dispatcher)) {
      if (uid !== undefined && isOfKind(write, informer.options))
        this.#awaitedOf(item).gone.push({ informer, key, uid });
    }
  }

  /**
   * The item has written this object, on a server or in its own place.
   * @throws {TypeError} if it is not one, such as the Status that a delete may return
   */
  add(item: string, object: WrittenObject, server?: object): void {
    const { apiVersion, kind, metadata } = Object(object) as WrittenObject; // looked at here: it may come from JavaScript
    if (typeof apiVersion !== 'string' || typeof kind !== 'string' || typeof metadata?.resourceVersion !== 'string') {
      throw new TypeError(
        'wrote takes the object that a write returned, with apiVersion, kind and metadata.resourceVersion: do not pass what a delete returns',
      );
    }
    if (!this.#observed.has(object)) this.#expect(item, object, server);
  }

  /** Caches that select the object, or hold it and may have to let it go, have to see its version. */
  #expect(item: string, object: Named, server: object | undefined): void {
    const { namespace, name = '', resourceVersion = '' } = object.metadata ?? {};
    // Versions that are no numbers cannot be compared.
    if (!isVersion(resourceVersion)) return;
    for (const informer of this.#cachesOf(server)) {
      if (!isOfKind(object, informer.options)) continue;
      if (!isSelected(informer.options, object) && !informer.get(name, namespace)) continue;
      const { versions } = this.#awaitedOf(item);
      if (BigInt(resourceVersion) > BigInt(versions.get(informer) ?? 0)) versions.set(informer, resourceVersion);
    }
  }

  #awaitedOf(item: string): Awaited {
    const awaited = this.#items.get(item) ?? { versions: new Map(), gone: [] };
    this.#items.set(item, awaited);
    return awaited;
  }

  /**
   * Resolves when the caches have the writes of the item. Returns the missing ones if that takes too long. Rejects with the reason of
   * `signal`, or of caches that end.
   */
  async seen(item: string, signal: AbortSignal): Promise<string | undefined> {
    const { versions, gone } = this.#awaitedOf(item);
    this.#items.delete(item);
    const late = new AbortController();
    const cancel = this.#clock.after(longestWaitMs, () => late.abort());
    const all = async () => {
      await Promise.all([...versions].map(([informer, version]) => informer.reached(version, { signal: late.signal })));
      // An object that was created and then deleted is gone by then.
      await Promise.all(gone.map(({ informer, key, uid }) => left(informer, key, uid, late.signal)));
    };
    try {
      await abortable(all, signal);
      return undefined;
    } catch (error) {
      if (!late.signal.aborted || signal.aborted) throw error;
      const missing = [
        ...[...versions].map(([{ options }, version]) => `${options.kind} (${version})`),
        ...gone.map(({ informer, key }) => `${informer.options.kind} (${key} deleted)`),
      ];
      return `the cache of ${missing.join(', ')} has not seen in ${longestWaitMs / 1_000} s what was written: check its watch, and that wrote is given the server of what is on another one (wrote(object, hub))`;
    } finally {
      cancel();
      late.abort();
    }
  }
}

/** Resolves when the cache has no object with this key and UID, or shows that it is being deleted, which a finalizer may delay. */
function left(informer: Informer, key: string, uid: string, signal: AbortSignal): Promise<void> {
  return informer.until(() => {
    const object = informer.getByKey(key);
    return object?.metadata.uid !== uid || object.metadata.deletionTimestamp !== undefined;
  }, signal);
}

/** Whether a resource with these selectors has an object. */
export function isSelected(
  { namespace, labelSelector, fieldSelector }: Omit<ReflectedResource, 'apiVersion' | 'kind'>,
  object: WrittenObject,
): boolean {
  const { metadata } = object;
  if (namespace !== undefined && namespace !== metadata?.namespace) return false;
  if (labelSelector && !matchesLabels(labelSelector, metadata?.labels ?? {})) return false;
  return !fieldSelector || matchesFields(fieldSelector, object);
}

const labelRequirement =
  /^\s*(?<not>!?)\s*(?<key>[^\s!=<>,()]+)\s*(?:(?<operator>==?|!=|<|>|\bin\b|\bnotin\b)\s*(?<values>.*?))?\s*$/;

/** `a=b,c!=d,e in (f,g),h notin (i),j,!k`, as apimachinery reads it. */
function matchesLabels(selector: string, labels: Readonly<Record<string, string>>): boolean {
  // Commas within parentheses separate values.
  return selector.split(/,(?![^(]*\))/).every((requirement) => {
    const { not, key = '', operator, values = '' } = labelRequirement.exec(requirement)?.groups ?? {};
    const label = Object.hasOwn(labels, key) ? labels[key] : undefined;
    const wanted = values
      .replace(/^\(|\)$/g, '')
      .split(',')
      .map((value) => value.trim());
    switch (operator) {
      case '=':
      case '==':
      case 'in':
        return label !== undefined && wanted.includes(label);
      case '!=':
      case 'notin':
        return label === undefined || !wanted.includes(label);
      case '<':
        return label !== undefined && Number(label) < Number(values);
      case '>':
        return label !== undefined && Number(label) > Number(values);
      default:
        return (label !== undefined) !== (not === '!');
    }
  });
}

/** `metadata.name=a,status.phase!=Running`: an absent field is empty. */
function matchesFields(selector: string, object: object): boolean {
  return selector.split(/(?<!\\),/).every((requirement) => {
    const [, path = '', operator, value = ''] = /^(.*?)(==?|!=)(.*)$/s.exec(requirement) ?? [];
    let field: unknown = object;
    for (const name of path.trim().split('.')) field = Object(field)[name];
    const isEqual = String(field ?? '') === value.replace(/\\(.)/g, '$1');
    return operator === '!=' ? !isEqual : isEqual;
  });
}
