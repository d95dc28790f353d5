// What the examples of client-node 1.4 do: a list, a namespace that is created and deleted, a watch, an informer.
import { CoreV1Api, KubeConfig, makeInformer, Watch } from '@kubernetes/client-node';
import { toKubeConfig } from '../../../../src/index.ts';
import { config } from './config.ts';
import { serve } from './serve.ts';

const kubeConfig = config ? toKubeConfig(config, KubeConfig) : new KubeConfig();
if (!config) kubeConfig.loadFromDefault();
const core = kubeConfig.makeApiClient(CoreV1Api);

await serve(async () => {
  const { items } = await core.listNamespace();
  const name = `example-${process.hrtime.bigint()}`;
  await core.createNamespace({ body: { metadata: { name } } });
  await core.deleteNamespace({ name });
  const watched = await new Promise((resolve, reject) => {
    const watch = new Watch(kubeConfig).watch(
      '/api/v1/namespaces',
      {},
      (type) => {
        resolve(type);
        watch.then((controller) => controller.abort());
      },
      reject,
    );
    watch.catch(reject);
  });
  const informer = makeInformer(kubeConfig, '/api/v1/configmaps', () => core.listConfigMapForAllNamespaces());
  const informed = new Promise((resolve, reject) => {
    informer.on('add', resolve);
    informer.on('error', reject);
  });
  await informer.start();
  await informed;
  await informer.stop();
  return { listed: items.some((item) => item.metadata?.name === 'kube-system'), watched, informed: 'add' };
});
