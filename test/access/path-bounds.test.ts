import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { staysBelow } from '../../src/access/url-pattern.ts';
import { fc } from '../fixtures/property.ts';

const bounds = [['v1', 'projects', '1']];

describe('a path that is bound to /v1/projects/1', () => {
  for (const path of [
    '/v1/projects/1',
    '/v1/projects/1/',
    '/v1/projects/1?watch=true',
    '/v1/projects/1/api/v1/namespaces?continue=a/../../b',
    '/v1/projects/1//api',
    '/v1/projects/1/a/../b',
    '/v1/projects/1/./b',
    '/v1/projects/1/api/v1/namespaces/n/services/s/proxy/group%2Fproject',
    '/v1/projects/1/a/b/..%2f..%2fc',
    '/v1/projects/1/caf%C3%A9',
    '/v1/projects/1/...',
    '/v1/projects/1/a..b',
  ]) {
    test(`may be ${path}`, () => assert.equal(staysBelow(bounds, path), true));
  }

  for (const path of [
    '',
    '/',
    '/v1/projects/2',
    '/v1/projects/10',
    '/v1/projects/1#',
    '/v1/projects',
    '//v1/projects/1',
    '/v1//projects/1',
    '/V1/projects/1',
    '/v1/%70rojects/1',
    'v1/projects/1',
    'https://gateway/v1/projects/1',
    'https://gateway/v1/projects/2',
    '/v1/projects/1/..',
    '/v1/projects/1/../2',
    '/v1/projects/1/../../../etc',
    '/v1/projects/1/a/../../2',
    '/v1/projects/1//../2',
    '/v1/projects/1/./../2',
    '/v1/projects/1/%2e%2e/2',
    '/v1/projects/1/.%2E/2',
    '/v1/projects/1/%252e%252e/2',
    '/v1/projects/1/%25252e%25252e/2',
    '/v1/projects/1/%2525252525252e',
    '/v1/projects/1/..%2f2',
    '/v1/projects/1%2f..%2f2',
    '/v1/projects/1/..%5c2',
    '/v1/projects/1/..\\2',
    '/v1/projects/1\\..\\2',
    '/v1/projects/1/..;x=y/2',
    '/v1/projects/1/..%3b/2',
    '/v1/projects/1/..%3f',
    '/v1/projects/1/..#',
    '/v1/projects/1/..%00/2',
    '/v1/projects/1/..%20/2',
    '/v1/projects/1/.%09./2',
    '/v1/projects/1/%c0%ae%c0%ae/2',
    '/v1/projects/1/..%c0%af2',
    '/v1/projects/1/x#/../../../2',
  ]) {
    test(`may not be ${JSON.stringify(path)}`, () => assert.equal(staysBelow(bounds, path), false));
  }

  test('never leads out as any server would read it', () => {
    const piece = fc.constantFrom(...'.. . %2e %2E %252e / // %2f \\\\ %5c a 1 2 ; ? # %25'.split(' '));
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const path = `/v1/projects/1/${pieces.join('')}`;
        if (!staysBelow(bounds, path)) return;
        for (const read of [path, decode(path), decode(decode(path))]) {
          const { pathname } = new URL(read, 'https://gateway');
          assert.match(`${pathname}/`, /^\/v1\/projects\/1\//, path);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  test('may be below any of several bounds, and any where one of them is empty', () => {
    assert.equal(staysBelow([['a'], ['b']], '/b/c'), true);
    assert.equal(staysBelow([['a'], ['b']], '/c'), false);
    assert.equal(staysBelow([[]], '/c'), true);
  });
});

function decode(path: string): string {
  const [target = ''] = path.split('?', 1);
  return target.replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}
