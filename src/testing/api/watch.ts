/**
 * A watch: first the existing objects if requested, then each change in order, as fast as its reader reads. It has a position in the
 * changes that the store keeps. A reader that falls so far behind that its next change is forgotten loses the watch.
 */
import { Readable } from 'node:stream';
import type { ApiState, Change, Collection } from './api-state.ts';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { onlyMetadata } from './http.ts';
import type { ListOptions } from './list.ts';
import { present, type StoredObject, withMeta } from './objects.ts';
import { expired } from './status.ts';

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** What is written at once. */
const chunkLength = 64 * 1024;

const line = (type: EventType, object: object) => `${JSON.stringify({ type, object })}\n`;

export class Watch extends Readable {
  readonly type: ResourceType;
  readonly #state: ApiState;
  readonly #options: ListOptions;
  readonly #metadataOnly: boolean;
  readonly #collection: Collection;
  readonly #events: Iterator<string | undefined>;
  readonly #timer: NodeJS.Timeout | undefined;
  #bookmark: 'none' | 'due' | 'initial-events-end' = 'none';
  /** Its reader takes more. */
  #hasRoom = false;

  /** A version that is gone is reported in the first event of the stream. */
  constructor(state: ApiState, type: ResourceType, options: ListOptions, metadataOnly: boolean) {
    super({ highWaterMark: chunkLength });
    this.type = type;
    this.#state = state;
    this.#options = options;
    this.#metadataOnly = metadataOnly;
    this.#collection = state.collection(type);
    this.#events = this.#eventsAfter(options.resourceVersion ?? 0);
    this.#collection.watches.add(this);
    const { timeoutSeconds = 0 } = options;
    if (timeoutSeconds > 0) this.#timer = setTimeout(() => this.end(), timeoutSeconds * 1_000).unref();
  }

  bookmark(): void {
    if (!this.#options.allowWatchBookmarks) return;
    if (this.#bookmark === 'none') this.#bookmark = 'due';
    this.pump();
  }

  end(): void {
    this.#stop();
    this.push(null);
  }

  override _read(): void {
    this.#hasRoom = true;
    this.pump();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    this.#stop();
    callback(error);
  }

  pump(): void {
    let chunk = '';
    while (this.#hasRoom) {
      const { value: event, done } = this.#events.next();
      chunk += event ?? '';
      if (event !== undefined && chunk.length < chunkLength) continue;
      if (chunk !== '') this.#hasRoom = this.push(chunk);
      if (done) return this.end();
      if (event === undefined) return;
      chunk = '';
    }
  }

  /** The events after a version, 0 for any; `undefined` while there is none. */
  *#eventsAfter(since: number): Generator<string | undefined, void> {
    const { namespace, selects, sendInitialEvents, allowWatchBookmarks } = this.#options;
    const { oldest, end } = this.#collection;
    let position = since === 0 ? end : this.#collection.positionAfter(since);
    if (sendInitialEvents ?? since === 0) {
      position = end;
      if (allowWatchBookmarks) this.#bookmark = 'initial-events-end';
      for (const object of this.#collection.list(namespace)) if (selects(object)) yield this.#line('ADDED', object);
    } else if (since > 0 && since < oldest) {
      yield line('ERROR', expired(`too old resource version: ${since} (${oldest})`).toStatus());
      return;
    }
    for (;;) {
      const change = this.#collection.changeAt(position);
      if (change === 'gone') return;
      if (change) position += 1;
      const event = change ? this.#event(change) : this.#takeBookmark();
      if (!change || event !== undefined) yield event;
    }
  }

  /** A change as this reader sees it: one that leaves its selection is a deletion for it. */
  #event({ before, object, deleted }: Change): string | undefined {
    const { selects } = this.#options;
    const was = before !== undefined && selects(before);
    const is = !deleted && selects(object);
    if (is) return this.#line(was ? 'MODIFIED' : 'ADDED', object);
    if (!was) return undefined;
    const { resourceVersion } = object.metadata;
    return this.#line('DELETED', withMeta(before, { resourceVersion }));
  }

  #line(type: EventType, object: StoredObject): string {
    const whole = present(this.type, object);
    return line(type, this.#metadataOnly ? onlyMetadata(whole) : whole);
  }

  #takeBookmark(): string | undefined {
    if (this.#bookmark === 'none') return undefined;
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const metadata = {
      resourceVersion: String(this.#state.version),
      ...(this.#bookmark === 'initial-events-end' ? { annotations } : {}),
    };
    this.#bookmark = 'none';
    const object = { kind: this.type.kind, apiVersion: apiVersionOf(this.type), metadata };
    return line('BOOKMARK', this.#metadataOnly ? onlyMetadata(object) : object);
  }

  #stop(): void {
    this.#hasRoom = false;
    clearTimeout(this.#timer);
    this.#collection.watches.delete(this);
  }
}
