// An operator that watches ConfigMaps and holds each with a finalizer.
import { createRequire } from 'node:module';
import k8sOperator, { type OperatorLogger, type ResourceEvent } from '@dot-i/k8s-operator';
import { toKubeConfig } from '../../../../src/index.ts';
import { config } from './config.ts';
import { serve } from './serve.ts';

// Its own: in a project that has 0.20 itself, this is an import.
const { CoreV1Api, KubeConfig } = createRequire(import.meta.resolve('@dot-i/k8s-operator'))('@kubernetes/client-node');

class Holder extends k8sOperator.default {
  constructor(logger: OperatorLogger) {
    super(logger);
    if (!config) return;
    this.kubeConfig = toKubeConfig(config, KubeConfig);
    this.k8sApi = this.kubeConfig.makeApiClient(CoreV1Api);
  }

  protected async init(): Promise<void> {
    await this.watchResource('', 'v1', 'configmaps', async (event) => this.#hold(event), 'default');
  }

  async #hold(event: ResourceEvent): Promise<void> {
    await this.handleResourceFinalizer(event, 'example.dev/held', async () => {});
  }
}

const log = (message: string) => process.stderr.write(`${message}\n`);
await new Holder({ debug: log, info: log, warn: log, error: log }).start();
await serve(async () => 'watches');
