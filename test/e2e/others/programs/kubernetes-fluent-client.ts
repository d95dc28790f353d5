import { K8s, kind } from 'kubernetes-fluent-client';
import { serve } from './serve.ts';

await serve(async () => {
  const { metadata } = await K8s(kind.ConfigMap).Apply({ metadata: { name: 'fluent', namespace: 'default' } });
  const { items } = await K8s(kind.Namespace).Get();
  return { applied: metadata?.name, listed: items.some((item) => item.metadata?.name === 'kube-system') };
});
