// One random request after the other: most of them make sense, some are wrong in one thing.

import type { Random } from '../../fixtures/random.ts';
import type { Choice, Earlier, Step } from './choice.ts';
import { kinds, namespaces, pathOf } from './kinds.ts';
import { get, list, watch } from './reads.ts';
import type { Sent } from './sides.ts';
import { apply, create, patch, put, remove, removeAll } from './writes.ts';

const names = ['a', 'b', 'c', 'd', 'e'];
const merge = 'application/merge-patch+json';

function odd({ random, kind, namespace, name }: Choice): Step {
  const root = pathOf(kind, namespace);
  const sent = random.pick<Sent>([
    // A custom resource takes a POST to an object for one to its collection.
    { method: kind.custom ? 'GET' : 'POST', path: `${root}/${name}`, ...(kind.custom ? {} : { body: {} }) },
    { method: 'PUT', path: root, body: {} },
    { method: 'PATCH', path: root, body: {}, headers: { 'content-type': merge } },
    { method: 'GET', path: '/apis/none.example.com/v1/things' },
    { method: 'GET', path: '/api/v1/nothing' },
    { method: 'GET', path: '/nothing' },
    { method: 'GET', path: `/api/v1/configmaps/${name}` },
    { method: 'DELETE', path: '/api/v1/configmaps' },
    { method: 'DELETE', path: '/api/v1/namespaces' },
    { method: 'POST', path: root, body: 'x', headers: { 'content-type': 'text/plain' } },
    { method: 'POST', path: root, body: '{', headers: { 'content-type': 'application/json' } },
    { method: 'GET', path: root, headers: { accept: 'text/html' } },
    {
      method: 'POST',
      path: `/api/v1/namespaces/${namespaces[0]}/serviceaccounts/${name}/token`,
      body: { spec: { expirationSeconds: random.pick([600, 599, 3600]) } },
    },
  ]);
  return { make: () => sent };
}

/** The next request. */
export function nextStep(random: Random, earlier: readonly Earlier[]): Step {
  const kind = random.pick(kinds);
  const inside = random.weighted([
    [10, namespaces[0]],
    [4, namespaces[1]],
    [1, 'missing'],
  ]);
  const choice = { random, kind, namespace: kind.namespaced ? inside : undefined, name: random.pick(names), earlier };
  const make = random.weighted<(choice: Choice) => Step | undefined>([
    [22, create],
    [8, get],
    [15, list],
    [16, put],
    [18, patch],
    [18, apply],
    [8, remove],
    [1, removeAll],
    [4, watch],
    [5, odd],
  ]);
  return make(choice) ?? create(choice);
}
