/** A world without time of its own: events happen in the order of their times, and everything that follows from one is done before the next. */
import type { Clock } from '../../src/fleet/clock.ts';
import { Random } from '../fixtures/random.ts';

interface Event {
  readonly at: number;
  readonly happen: () => void;
}

export class World {
  #now = 0;
  /** In the order of their times, and of two of one moment the first that was asked for. */
  readonly #events: Event[] = [];
  readonly #random: Random;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** Milliseconds. */
  get now(): number {
    return this.#now;
  }

  /** From 0 to 1, the same for the same seed. */
  readonly random = (): number => this.#random.next();

  chance(probability: number): boolean {
    return probability > 0 && this.random() < probability;
  }

  in(ms: number, happen: () => void): void {
    const at = this.#now + Math.max(0, ms);
    const place = this.#events.findLastIndex((event) => event.at <= at) + 1;
    this.#events.splice(place, 0, { at, happen });
  }

  /** Lets events happen until a time; `check` looks at the world after each. */
  async until(time: number, check: () => void): Promise<void> {
    for (;;) {
      const next = this.#events[0];
      if (!next || next.at > time) break;
      this.#events.shift();
      this.#now = next.at;
      next.happen();
      await settled();
      check();
    }
    this.#now = time;
  }
}

/** Resolves when no promise goes on by itself any more: Node runs what is asked for here after all that promises do. */
function settled(): Promise<void> {
  return new Promise((resolve) => process.nextTick(resolve));
}

/** A process: what is delivered to it waits while it is stopped, and goes nowhere when it is dead. */
export class Process {
  readonly world: World;
  /** How much of its own time passes in one of the world's. */
  readonly rate: number;
  readonly #start: number;
  #isDead = false;
  #isPaused = false;
  #inbox: (() => void)[] = [];

  constructor(world: World, rate: number) {
    this.world = world;
    this.rate = rate;
    this.#start = 1_000_000 * world.random();
  }

  readonly clock: Clock = {
    now: () => Math.round(1_700_000_000_000 + this.clock.uptime()),
    uptime: () => this.#start + this.world.now * this.rate,
    after: (ms, run) => {
      let isCancelled = false;
      this.world.in(ms / this.rate, () => this.deliver(() => isCancelled || run()));
      return () => {
        isCancelled = true;
      };
    },
  };

  /** It does something now. */
  get isRunning(): boolean {
    return !this.#isDead && !this.#isPaused;
  }

  deliver(what: () => void): void {
    if (this.#isDead) return;
    if (this.#isPaused) this.#inbox.push(what);
    else what();
  }

  pause(): void {
    this.#isPaused = true;
  }

  /** What has come meanwhile is delivered in any order: sockets may be read before timers run. */
  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    const inbox = this.#inbox.map((what) => ({ what, place: this.world.random() }));
    this.#inbox = [];
    for (const { what } of inbox.toSorted((a, b) => a.place - b.place)) this.world.in(0, () => this.deliver(what));
  }

  kill(): void {
    this.#isDead = true;
    this.#inbox = [];
  }
}
