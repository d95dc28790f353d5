import type { Dispatcher } from 'undici';

type Controller = Dispatcher.DispatchController;
export type RawHeaders = NonNullable<Controller['rawHeaders']> | null;

/** A controller that outlives those below it: what it is asked for holds for the next one too. */
export class RelayedController implements Controller {
  #wire: Controller | undefined;
  #paused = false;
  #reason: Error | null = null;

  /** The controller of the layer below; `undefined` while nothing is under way there. */
  protected get wire(): Controller | undefined {
    return this.#wire;
  }

  protected relayTo(wire: Controller | undefined): void {
    this.#wire = wire;
    if (this.#paused) wire?.pause();
  }

  abort(reason: Error): void {
    this.#reason ??= reason;
    this.#wire?.abort(reason);
  }

  pause(): void {
    this.#paused = true;
    this.#wire?.pause();
  }

  resume(): void {
    this.#paused = false;
    this.#wire?.resume();
  }

  get aborted(): boolean {
    return this.#reason !== null;
  }

  get paused(): boolean {
    return this.#paused;
  }

  get reason(): Error | null {
    return this.#reason;
  }

  get rawHeaders(): RawHeaders {
    return this.#wire?.rawHeaders ?? null;
  }

  get rawTrailers(): RawHeaders {
    return this.#wire?.rawTrailers ?? null;
  }
}
