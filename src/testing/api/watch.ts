/**
 * A watch: first the existing objects if requested, then each change in order, as fast as its reader reads. It has a position in the
 * changes that the store keeps. A reader that falls so far behind that its next change is forgotten loses the watch.
 */

import type { ApiState, Change, Collection } from './api-state.ts';
import { apiVersionOf, type ResourceType } from './built-in-types.ts';
import { onlyMetadata, type Response, writeTo } from './http.ts';
import { present, type StoredObject, withMeta } from './objects.ts';
import { type ListOptions, versionOf } from './query.ts';
import { expired } from './status.ts';

interface WatchSettings {
  readonly type: ResourceType;
  readonly metadataOnly: boolean;
  readonly options: ListOptions;
}

type EventType = 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR';

/** What is written at once. */
const chunkLength = 64 * 1024;

const line = (type: EventType, object: object) => `${JSON.stringify({ type, object })}\n`;

export class Watch {
  readonly #state: ApiState;
  readonly #settings: WatchSettings;
  readonly #collection: Collection;
  /** The version that it begins after; 0 is any. */
  readonly #since: number;
  #timer: NodeJS.Timeout | undefined;
  #stream: Response | undefined;
  #stopListening: () => void = () => {};
  /** Objects that are still to be sent before the first change. */
  #initial: Iterator<StoredObject> | undefined;
  #bookmark: 'none' | 'due' | 'initial-events-end' = 'none';
  #position: number;
  #blocked = false;

  /** Throws for invalid options. A version that is gone is reported in the first event of the stream. */
  constructor(state: ApiState, settings: WatchSettings) {
    const { type, options } = settings;
    this.#state = state;
    this.#settings = settings;
    this.#collection = state.collection(type);
    this.#since = versionOf(options.resourceVersion) ?? 0;
    this.#position = this.#collection.end;
  }

  get type(): ResourceType {
    return this.#settings.type;
  }

  start(stream: Response): void {
    const { namespace, selects, sendInitialEvents, allowWatchBookmarks, timeoutSeconds = 0 } = this.#settings.options;
    const since = this.#since;
    const initial = sendInitialEvents ?? since === 0;
    const { oldest } = this.#collection;
    this.#stream = stream;
    if (!initial && since > 0 && since < oldest) {
      const error = expired(`too old resource version: ${since} (${oldest})`);
      writeTo(stream, line('ERROR', error.toStatus()));
      return this.end();
    }
    if (initial) {
      this.#initial = this.#collection.list(namespace).filter(selects).values();
      if (allowWatchBookmarks) this.#bookmark = 'initial-events-end';
    } else if (since > 0) {
      this.#position = this.#collection.positionAfter(since);
    }
    this.#stopListening = this.#collection.listen(() => this.#pump());
    stream.on('drain', () => {
      this.#blocked = false;
      this.#pump();
    });
    stream.on('close', () => this.#stop());
    if (timeoutSeconds > 0) this.#timer = setTimeout(() => this.end(), timeoutSeconds * 1_000).unref();
    this.#pump();
  }

  /** Sends a bookmark, if the reader asked for bookmarks. */
  bookmark(): void {
    if (!this.#settings.options.allowWatchBookmarks) return;
    if (this.#bookmark === 'none') this.#bookmark = 'due';
    this.#pump();
  }

  /** Ends the stream, as a server does at a watch's timeout. */
  end(): void {
    const stream = this.#stream;
    this.#stop();
    stream?.end();
  }

  /** Writes pending events while there is room. */
  #pump(): void {
    let chunk = '';
    while (this.#stream && !this.#blocked) {
      const next = this.#next();
      if (next !== undefined) chunk += next;
      if (chunk === '') return;
      if (next !== undefined && chunk.length < chunkLength) continue;
      this.#blocked = !writeTo(this.#stream, chunk);
      chunk = '';
    }
  }

  /** The next event; `undefined` if there is none yet. */
  #next(): string | undefined {
    if (this.#initial) {
      const { value, done } = this.#initial.next();
      if (!done) return this.#line('ADDED', value);
      this.#initial = undefined;
    }
    for (;;) {
      const change = this.#collection.changeAt(this.#position);
      if (change === 'gone') {
        this.end();
        return undefined;
      }
      if (!change) return this.#takeBookmark();
      this.#position += 1;
      const event = this.#event(change);
      if (event !== undefined) return event;
    }
  }

  /** A change as this reader sees it: one that leaves its selection is a deletion for it. */
  #event({ before, object, deleted }: Change): string | undefined {
    const { selects } = this.#settings.options;
    const was = before !== undefined && selects(before);
    const is = !deleted && selects(object);
    if (is) return this.#line(was ? 'MODIFIED' : 'ADDED', object);
    if (!was) return undefined;
    const { resourceVersion } = object.metadata;
    return this.#line('DELETED', withMeta(before, { resourceVersion }));
  }

  #line(type: EventType, object: StoredObject): string {
    const { type: kind, metadataOnly } = this.#settings;
    const whole = present(kind, object);
    return line(type, metadataOnly ? onlyMetadata(whole) : whole);
  }

  #takeBookmark(): string | undefined {
    if (this.#bookmark === 'none') return undefined;
    const { type, metadataOnly } = this.#settings;
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const metadata = {
      resourceVersion: String(this.#state.version),
      ...(this.#bookmark === 'initial-events-end' ? { annotations } : {}),
    };
    this.#bookmark = 'none';
    const object = { kind: type.kind, apiVersion: apiVersionOf(type), metadata };
    return line('BOOKMARK', metadataOnly ? onlyMetadata(object) : object);
  }

  #stop(): void {
    this.#stream = undefined;
    this.#stopListening();
    clearTimeout(this.#timer);
  }
}
