/** The controllers of a fleet, and where they work. */
import { ConfigurationError, FleetError } from '../../errors/index.ts';
import type { Cluster } from '../cluster.ts';
import { Controller, type ControllerContext } from './controller.ts';
import type { ControllerHandle } from './options.ts';
import { readController } from './settings.ts';

/** What controllers know of their fleet. */
export interface ControllersContext extends ControllerContext {
  engaged(): Iterable<Cluster>;
  /** Resolves when every cluster has been tried, and the caches of the engaged ones are filled. */
  synced(): Promise<void>;
}

export class Controllers {
  readonly #context: ControllersContext;
  readonly #controllers: Controller[] = [];
  #isRunning = false;

  constructor(context: ControllersContext) {
    this.#context = context;
  }

  /** Adds a controller. It works on the engaged clusters, and on those that are attached from now on. */
  add(options: object): ControllerHandle {
    const settings = readController(options);
    if (this.#context.hubPlace.signal.aborted) {
      const message = `controller ${settings.name} would never run: the fleet has been closed; make a new Fleet for it`;
      throw new FleetError('FLEET_CLOSED', message);
    }
    if (this.#controllers.some(({ name }) => name === settings.name)) {
      const message = `${settings.name} is the name of another controller of this fleet`;
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'name', message }]);
    }
    const controller = new Controller(settings, this.#context);
    this.#controllers.push(controller);
    if (this.#isRunning) this.#begin(controller);
    for (const cluster of this.#context.engaged()) controller.attach(cluster);
    return { enqueue: (request) => controller.enqueue(request) };
  }

  /** Begins with the objects of the hub. */
  start(): void {
    this.#isRunning = true;
    for (const controller of this.#controllers) this.#begin(controller);
  }

  /** A controller that sums up clusters begins when all have been tried: at each start it would write what the first of them say. */
  #begin(controller: Controller): void {
    if (!controller.followsClusters) return controller.attachHub();
    const begin = () => {
      controller.attachHub();
      for (const cluster of this.#context.engaged()) controller.attach(cluster);
    };
    // It rejects if the fleet is closed.
    this.#context.synced().then(begin, () => undefined);
  }

  /** Begins with an engaged cluster, until its signal aborts. */
  attach(cluster: Cluster): void {
    for (const controller of this.#controllers) controller.attach(cluster);
  }

  /** Objects of the hub with these keys may have become this process's, or another one's. */
  ownersChanged(affects: (key: string) => boolean): void {
    this.#context.hubPlace.ownersChanged(affects);
    for (const controller of this.#controllers) controller.ownersChanged(affects);
  }

  /** Resolves when all reconciles on a cluster, or on the hub, have ended or were given up. The signal of the place has aborted before. */
  async drained(place: Cluster | 'hub'): Promise<void> {
    const key = place === 'hub' ? this.#context.hubPlace : place;
    await Promise.all(this.#controllers.map((controller) => controller.drained(key)));
  }

  /** For metrics. */
  get stats() {
    return this.#controllers.map(({ stats }) => stats);
  }
}
