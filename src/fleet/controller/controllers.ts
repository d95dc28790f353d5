/** The controllers of a fleet, and the clusters that they work on. */
import { ConfigurationError } from '../../errors/index.ts';
import { parseOptionsWith } from '../../options/option-schemas.ts';
import type { KubernetesObject } from '../../rest/api/kubernetes-object.ts';
import type { Cluster } from '../cluster.ts';
import { Controller, type ControllerContext } from './controller.ts';
import { type ControllerOptions, controllerSchema } from './options.ts';

export class Controllers {
  readonly #context: ControllerContext;
  readonly #controllers: Controller[] = [];

  constructor(context: ControllerContext) {
    this.#context = context;
  }

  /** Adds a controller. It works on clusters that are attached from now on, and on `engaged`. */
  add<T extends KubernetesObject>(options: ControllerOptions<T>, engaged: Iterable<Cluster>): void {
    const settings = parseOptionsWith(controllerSchema, options);
    if (this.#controllers.some(({ name }) => name === settings.name)) {
      const message = `${settings.name} is the name of another controller of this fleet`;
      throw new ConfigurationError('OPTION_INVALID', 'options', [{ path: 'name', message }]);
    }
    // The schema has checked every function; its types are the caller's.
    const typed = settings as typeof settings & Pick<ControllerOptions, 'for' | 'owns' | 'watches' | 'reconcile'>;
    const controller = new Controller(typed as ConstructorParameters<typeof Controller>[0], this.#context);
    this.#controllers.push(controller);
    for (const cluster of engaged) controller.attach(cluster);
  }

  /** Reconciles the objects of a cluster until its signal aborts. */
  attach(cluster: Cluster): void {
    for (const controller of this.#controllers) controller.attach(cluster);
  }

  /** Resolves when no reconcile of a cluster runs, or `deadline` aborts: those that still run then lose their slots. */
  async drained(cluster: Cluster, deadline: AbortSignal): Promise<void> {
    await Promise.all(this.#controllers.map((controller) => controller.drained(cluster, deadline)));
  }

  /** Why controllers cannot work on an engaged cluster. */
  problems(cluster: Cluster): readonly string[] {
    return this.#controllers.flatMap((controller) => controller.problem(cluster) ?? []);
  }

  /** For metrics. */
  get stats() {
    return this.#controllers.map(({ stats }) => stats);
  }
}
