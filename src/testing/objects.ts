/** Changes the objects of a cluster without its API: no admission, no status subresource, no finalizers. */
import type { ApiState } from './api/api-state.ts';
import { namespaceType, type ResourceType } from './api/built-in-types.ts';
import { isObject, type JsonObject, without } from './api/json.ts';
import { prepareKind, readKind } from './api/kinds.ts';
import { withManagers } from './api/managed-fields.ts';
import { type GivenMeta, keyOf, type Place, present, timestamp, withMeta } from './api/objects.ts';
import { isNewGeneration, storeObject, takeObject } from './api/write.ts';

/** Identifies an object. */
export interface ObjectName {
  readonly apiVersion: string;
  readonly kind: string;
  /**
   * `namespace` for the kinds that have one.
   * @default `default`
   */
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}

/** An object as a test writes it: any JSON. */
export interface TestObject extends ObjectName {
  readonly metadata: ObjectName['metadata'] & Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A stored object. */
export interface StoredTestObject extends TestObject {
  readonly metadata: TestObject['metadata'] & {
    readonly uid: string;
    readonly resourceVersion: string;
    readonly creationTimestamp: string;
    readonly generation?: number | undefined;
    readonly labels?: Readonly<Record<string, string>> | undefined;
    readonly annotations?: Readonly<Record<string, string>> | undefined;
  };
}

/** Objects of a kind. */
export interface ObjectsOfKind {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string | undefined;
}

/** @internal */
export class Objects {
  readonly #state: ApiState;

  constructor(state: ApiState) {
    this.#state = state;
  }

  add(given: TestObject | Iterable<TestObject>): void {
    for (const object of Symbol.iterator in given ? given : [given]) {
      const place = this.#place(object);
      if (this.#state.find(place)) throw new Error(`there is a ${textOf(place)} already`);
      this.#store(object, place);
    }
  }

  set(object: TestObject): void {
    this.#store(object, this.#place(object));
  }

  delete(name: ObjectName): void {
    const place = this.#place(name);
    const object = this.#state.find(place);
    if (!object) throw new Error(`there is no ${textOf(place)}`);
    const inside = place.type === namespaceType ? this.#state.objectsIn(place.name) : [];
    for (const [type, one] of inside) takeObject(this.#state, type, one);
    takeObject(this.#state, place.type, object);
  }

  get(name: ObjectName): StoredTestObject | undefined {
    const place = this.#place(name);
    const object = this.#state.find(place);
    return object && structuredClone(present(place.type, object));
  }

  list({ apiVersion, kind, namespace }: ObjectsOfKind): readonly StoredTestObject[] {
    const type = this.#type(apiVersion, kind);
    const objects = this.#state.collection(type).list(namespace);
    return objects.map((object) => structuredClone(present(type, object)));
  }

  addNamespace(name: string): void {
    this.add({ apiVersion: 'v1', kind: 'Namespace', metadata: { name } });
  }

  #store(given: TestObject, place: Place): void {
    const { type, namespace, name } = place;
    if (namespace !== undefined && !this.#state.find({ type: namespaceType, name: namespace })) {
      this.addNamespace(namespace);
    }
    const before = this.#state.find(place);
    // A copy, as JSON.
    const { apiVersion: _, kind: __, metadata, ...content }: JsonObject = JSON.parse(JSON.stringify(given));
    const meta: GivenMeta = isObject(metadata) ? metadata : {};
    const system = { ...this.#state.newMeta(type), ...before?.metadata, ...meta };
    const { uid = '', creationTimestamp = '', generation } = system;
    const managedFields = before?.metadata.managedFields ?? meta.managedFields;
    const own = without({ ...meta, namespace, generation, managedFields });
    const read = readKind(type, without({ ...content, status: content.status ?? type.initialStatus }));
    const stored = { ...read, metadata: { ...own, name, uid, creationTimestamp, resourceVersion: '' } };
    const object = prepareKind(type, stored);
    // A status that a test writes along with the rest does not count, as in the API.
    const isNew =
      before &&
      meta.generation === undefined &&
      isNewGeneration(type, without({ ...object, status: before.status }), before);
    const next = isNew ? withMeta(object, { generation: (before.metadata.generation ?? 0) + 1 }) : object;
    const writer = { manager: 'FakeCluster', time: timestamp(this.#state.clock()) };
    const written = before ? withManagers(type, before, next, writer) : next;
    storeObject(this.#state, type, written);
  }

  #place({ apiVersion, kind, metadata }: ObjectName): Place {
    const type = this.#type(apiVersion, kind);
    const { name, namespace = type.namespaced ? 'default' : undefined } = metadata ?? {};
    if (typeof name !== 'string' || name === '') throw new TypeError(`a ${kind} needs metadata.name`);
    if (namespace !== undefined && typeof namespace !== 'string') {
      throw new TypeError(`metadata.namespace of ${kind} ${name} must be text`);
    }
    if (namespace !== undefined && !type.namespaced) {
      throw new TypeError(`a ${kind} is in no namespace, and ${name} has metadata.namespace ${namespace}`);
    }
    return { type, namespace, name };
  }

  #type(apiVersion: string, kind: string): ResourceType {
    const type = this.#state.typeOfKind(apiVersion, kind);
    if (type) return type;
    throw new TypeError(
      `there is no kind ${kind} in apiVersion ${apiVersion}: name its CustomResourceDefinition in customResourceDefinitions, or add it`,
    );
  }
}

const textOf = ({ type, namespace, name }: Place) => `${type.kind} ${keyOf(namespace, name)}`;
