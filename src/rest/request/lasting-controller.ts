import type { Dispatcher } from 'undici';

export type RawHeaders = NonNullable<Dispatcher.DispatchController['rawHeaders']> | null;

/** What a handler is told of an upgrade, and of the beginning of an answer. */
export type Upgrade = Parameters<NonNullable<Dispatcher.DispatchHandler['onRequestUpgrade']>>;
export type ResponseStart = Parameters<NonNullable<Dispatcher.DispatchHandler['onResponseStart']>>;

/** Stands for the controller of undici's while a request is sent again: what is said to it holds for the next try, too. */
export abstract class LastingController {
  #wire: Dispatcher.DispatchController | undefined;
  #paused: boolean;

  constructor(paused = false) {
    this.#paused = paused;
  }

  /** undici's own, while a try is under way. */
  protected get wire(): Dispatcher.DispatchController | undefined {
    return this.#wire;
  }

  /** A try begins; `undefined`: there is none for now. */
  protected beginsWith(wire: Dispatcher.DispatchController | undefined): void {
    this.#wire = wire;
    if (this.#paused) wire?.pause();
  }

  get paused(): boolean {
    return this.#paused;
  }

  pause(): void {
    this.#paused = true;
    this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#wire?.resume();
  }

  get rawHeaders(): RawHeaders {
    return this.#wire?.rawHeaders ?? null;
  }

  get rawTrailers(): RawHeaders {
    return this.#wire?.rawTrailers ?? null;
  }
}
