import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Registry } from 'prom-client';
import { parse } from 'yaml';
import { FleetMetrics } from '../../src/fleet/index.ts';
import { CredentialMetrics } from '../../src/index.ts';
import { read } from '../fixtures/docs.ts';

describe('examples/observability', () => {
  const registry = new Registry();
  new CredentialMetrics({ registry });
  new FleetMetrics({ registry });
  const known = registry.getMetricsAsArray().map(({ name }) => name);
  /** The metrics that an expression names. */
  const namesIn = (expression: string) =>
    [
      ...expression.matchAll(/\b(?:clusterprofile|rest_client|workqueue|controller_runtime|leader_election)_[a-z_]+/g),
    ].map(([name]) => name.replace(/_bucket$/, ''));
  const rules: { alert: string; expr: string; annotations: { summary: string } }[] = parse(
    read('examples/observability/alerts.yaml'),
  ).groups.flatMap((group: { rules: object[] }) => group.rules);
  const panels: { title: string; targets: { expr: string }[] }[] = JSON.parse(
    read('examples/observability/dashboard.json'),
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
});
