// The dialect of kubectl: https://kubernetes.io/docs/reference/kubectl/jsonpath/
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Failure } from '../../src/program/failure.ts';
import { parsePath, parseTemplate } from '../../src/program/json-path.ts';

const data = {
  kind: 'List',
  items: [
    {
      metadata: { name: '127.0.0.1', labels: { 'kubernetes.io/hostname': '127.0.0.1' } },
      status: { capacity: { cpu: '4' } },
    },
    { metadata: { name: '127.0.0.2' }, status: { capacity: { cpu: '8' }, addresses: [{ type: 'InternalIP' }] } },
  ],
  users: [
    { name: 'myself', age: 30 },
    { name: 'e2e', age: 9, user: { username: 'admin', active: true } },
  ],
};

describe('a JSONPath template', () => {
  for (const [template, expected] of [
    ['kind is {.kind}', 'kind is List'],
    ["{['kind']} {$.kind} {@.kind} {kind}", 'List List List List'],
    ['{.items[*].metadata.name}', '127.0.0.1 127.0.0.2'],
    ['{.items[*].metadata.labels.kubernetes\\.io/hostname}', '127.0.0.1'],
    ["{.items[0].metadata.labels['kubernetes.io/hostname']}", '127.0.0.1'],
    ['{..name}', '127.0.0.1 127.0.0.2 myself e2e'],
    ['{.users[-1].name} {.users[-2].name} {.users[-3].name}', 'e2e myself '],
    ['{.users[0:1].name} {.users[1:].name} {.users[:-1].name}', 'myself e2e myself'],
    ['{.users[?(@.name=="e2e")].user.username}', 'admin'],
    ["{.users[?(@.name != 'e2e')].name}", 'myself'],
    ['{.users[?(@.age>9)].name} {.users[?(@.age>=9)].name} {.users[?(@.age<30)].name}', 'myself myself e2e e2e'],
    ['{.users[?(@.user.active==true)].name} {.users[?(@.user)].name}', 'e2e e2e'],
    ['{.items[?(@.status.addresses[0].type=="InternalIP")].metadata.name}', '127.0.0.2'],
    ['{range .items[*]}[{.metadata.name}, {.status.capacity.cpu}] {end}.', '[127.0.0.1, 4] [127.0.0.2, 8] .'],
    ['{range .items[*]}{range .status.addresses[*]}{.type}{"\\t"}{end}{end}{\'\\n\'}', 'InternalIP\t\n'],
    ['{.items[1].status.addresses} {.users[0].age} {.none.at[3].all}', '[{"type":"InternalIP"}] 30 '],
    ['{.users[1].user.*}', 'admin true'],
    ['{range .users[*].name}<{@}>{end}', '<myself><e2e>'],
  ] as const) {
    test(template, () => assert.equal(parseTemplate(template)(data), expected));
  }

  for (const [template, why] of [
    ['{.items[*}', /\[\*.* cannot be read/],
    ['{.items', /a \{ has no partner/],
    ['{range .items[*]}x', /\{range \.\.\.\} has no \{end\}/],
    ['{end}', /\{end\} has no/],
    ['{.items[?(@.a==b)]}', /b: must be a number, true, false or text in quotes/],
  ] as const) {
    test(`${template} is refused`, () => {
      assert.throws(
        () => parseTemplate(template),
        (error) => error instanceof Failure && why.test(error.message),
      );
    });
  }

  test('prints nothing of a value that a terminal acts on', () => {
    assert.equal(parseTemplate('{.a}')({ a: '\u001b[2J' }), '\\u001b[2J');
  });
});

test('a path of a column may lack its braces and its first dot', () => {
  for (const path of ['.kind', 'kind', '{.kind}', '$.kind']) assert.deepEqual(parsePath(path)(data), ['List']);
  assert.deepEqual(parsePath('.')(data), [data]);
});
