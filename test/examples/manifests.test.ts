import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { execa } from 'execa';
import { Registry } from 'prom-client';
import { parse, parseAllDocuments } from 'yaml';
import { parseFlags, pickFlags } from '../../src/access/flags.ts';
import { parseProviderFile } from '../../src/access/provider-file.ts';
import { CredentialMetrics } from '../../src/index.ts';

const file = (path: string) => fileURLToPath(new URL(`../../examples/${path}`, import.meta.url));
const read = (path: string) => readFileSync(file(path), 'utf8');

describe('examples/deploy', () => {
  const manifests = parseAllDocuments(read('deploy/manifests.yaml')).map((document) => document.toJS());
  const find = (kind: string) => manifests.find((manifest) => manifest.kind === kind) ?? assert.fail(`no ${kind}`);
  const { spec } = find('Deployment').spec.template;
  const [container] = spec.containers;

  test('has flags and a provider file that are valid, with the rules switched on', () => {
    const { values, problems } = pickFlags(container.args);
    const { options } = parseFlags(values, problems);
    assert.equal(options.watchProviderFile, true);
    assert.deepEqual(options.pluginPolicy?.allowlist, [{ command: '/plugins/gke-gcloud-auth-plugin' }]);
    const [provider] = parseProviderFile(find('ConfigMap').data['providers.yaml'], 'providers.yaml');
    assert.equal(provider?.execConfig.command, '/plugins/gke-gcloud-auth-plugin');
    assert.equal(provider?.allowedServers?.length, 2);
    const file = spec.volumes.find(({ name }: { name: string }) => name === 'providers').configMap.name;
    assert.equal(file, find('ConfigMap').metadata.name);
  });

  test('runs as nobody, reads a root and plugins that it cannot write, and may read ClusterProfiles only', () => {
    assert.equal(spec.securityContext.runAsNonRoot, true);
    for (const { securityContext } of [container, ...spec.initContainers]) {
      assert.deepEqual(securityContext, {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ['ALL'] },
      });
    }
    const mounts: readonly { name: string; readOnly?: boolean }[] = container.volumeMounts;
    for (const name of ['plugins', 'providers'])
      assert.equal(mounts.find((mount) => mount.name === name)?.readOnly, true);
    assert.deepEqual(find('Role').rules, [
      { apiGroups: ['multicluster.x-k8s.io'], resources: ['clusterprofiles'], verbs: ['get', 'list', 'watch'] },
    ]);
  });

  test('is scraped on the port that the container has, and may go nowhere but to DNS and https', () => {
    const [{ name, containerPort }] = container.ports;
    const [port] = find('Service').spec.ports;
    assert.deepEqual([port.targetPort, port.port], [name, containerPort]);
    assert.equal(find('ServiceMonitor').spec.endpoints[0].port, port.name);
    assert.deepEqual(find('NetworkPolicy').spec.policyTypes, ['Ingress', 'Egress']);
    const labels = find('Deployment').spec.template.metadata.labels;
    for (const selector of [find('Service').spec.selector, find('NetworkPolicy').spec.podSelector.matchLabels]) {
      assert.deepEqual(selector, labels);
    }
  });
});

describe('examples/observability', () => {
  const registry = new Registry();
  new CredentialMetrics({ registry });
  const known = registry.getMetricsAsArray().map(({ name }) => name);
  /** The metrics that an expression names. */
  const namesIn = (expression: string) =>
    [...expression.matchAll(/\b(?:clusterprofile|rest_client)_[a-z_]+/g)].map(([name]) => name.replace(/_bucket$/, ''));
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = parse(
    read('observability/alerts.yaml'),
  ).groups.flatMap((group: { rules: object[] }) => group.rules);
  const panels: { title: string; targets: { expr: string }[] }[] = JSON.parse(
    read('observability/dashboard.json'),
  ).panels;

  test('has alerts on metrics that are there, each with a summary', () => {
    for (const { alert, expr, annotations } of rules) {
      const names = namesIn(expr);
      assert.ok(names.length > 0 && annotations.summary.length > 0, alert);
      for (const name of names) assert.ok(known.includes(name), `${alert}: ${name}`);
    }
  });

  test('has a dashboard that shows every metric, and no other', () => {
    const shown = panels.flatMap(({ targets }) => targets.flatMap(({ expr }) => namesIn(expr)));
    assert.deepEqual([...new Set(shown)].toSorted(), known.toSorted());
  });

  test('has alerts that promtool accepts, where promtool is installed', async (t) => {
    const { exitCode, stdout, stderr, code } = await execa(
      'promtool',
      ['check', 'rules', file('observability/alerts.yaml')],
      {
        reject: false,
      },
    );
    if (code === 'ENOENT') t.diagnostic('promtool is not installed: expressions were looked at by name only');
    else assert.equal(exitCode, 0, `${stdout}${stderr}`);
  });
});
