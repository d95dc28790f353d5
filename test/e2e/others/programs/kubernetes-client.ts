import { createRequire } from 'node:module';
import { config } from './config.ts';
import { serve } from './serve.ts';

// Its types are of Kubernetes 1.13's paths, and know nothing of KubeConfig.
const require = createRequire(import.meta.url);
const { Client, KubeConfig } = require('kubernetes-client');
const Request = require('kubernetes-client/backends/request');

const client = new Client({ backend: new Request(options()), version: '1.13' });

function options() {
  if (process.env.GIVE_CONFIG) return { kubeconfig: config };
  if (config) return { url: config.access.cluster.server, request: { agent: config.agent } };
  const kubeconfig = new KubeConfig();
  kubeconfig.loadFromDefault();
  return { kubeconfig };
}

await serve(async () => {
  const { body } = await client.api.v1.namespaces.get();
  const names = body.items.map((item: { readonly metadata: { readonly name: string } }) => item.metadata.name);
  return { listed: names.includes('kube-system') };
});
