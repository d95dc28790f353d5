import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { lint } from '../../../src/program/lint/lint.ts';
import { toSarif } from '../../../src/program/lint/sarif.ts';

/** What the schema of SARIF 2.1.0 asks for, and what code hosts need beside it, of the parts that are written. */
const sarif = z.strictObject({
  $schema: z.url(),
  version: z.literal('2.1.0'),
  runs: z
    .array(
      z.strictObject({
        tool: z.strictObject({
          driver: z.strictObject({
            name: z.string().min(1),
            semanticVersion: z.string().regex(/^\d+\.\d+\.\d+$/),
            rules: z.array(
              z.strictObject({ id: z.string(), shortDescription: z.strictObject({ text: z.string().min(1) }) }),
            ),
          }),
        }),
        columnKind: z.enum(['utf16CodeUnits', 'unicodeCodePoints']),
        results: z.array(
          z.strictObject({
            ruleId: z.string(),
            ruleIndex: z.int().min(0),
            level: z.enum(['none', 'note', 'warning', 'error']),
            message: z.strictObject({ text: z.string().min(1) }),
            locations: z.tuple([
              z.strictObject({
                physicalLocation: z.strictObject({
                  // RFC 3986: relative to the root of the repository, or absolute.
                  artifactLocation: z.strictObject({
                    uri: z.string().regex(/^(?:file:\/\/\/)?[\w\-./~%!$&'()*+,;=@]+$/),
                  }),
                  region: z.strictObject({ startLine: z.int().min(1), startColumn: z.int().min(1) }),
                }),
              }),
            ]),
          }),
        ),
      }),
    )
    .length(1),
});

test('SARIF has what its schema asks for, each result with its rule and a place', () => {
  const text =
    'providers: [{ name: a, execConfig: { apiVersion: client.authentication.k8s.io/v1, command: bin/x } }]\n';
  const files = ['a b/ü.yaml', './x.yaml', '/etc/p#1.yaml'].map((file) => ({ file, text }));
  const findings = lint([...files, { file: 'bad.yaml', text: 'providers: 7\n' }]);
  const [run] = sarif.parse(toSarif(findings, '1.2.3')).runs;
  const uris = new Set(run?.results.map(({ locations }) => locations[0].physicalLocation.artifactLocation.uri));
  assert.deepEqual([...uris], ['a%20b/%C3%BC.yaml', 'x.yaml', 'file:///etc/p%231.yaml', 'bad.yaml']);
  for (const { ruleId, ruleIndex } of run?.results ?? []) assert.equal(run?.tool.driver.rules[ruleIndex]?.id, ruleId);
  assert.deepEqual([...new Set(run?.results.map(({ level }) => level))], ['warning', 'error']);
  sarif.parse(toSarif([], '1.2.3'));
});
