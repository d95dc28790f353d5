// Requests that read: objects, lists and their pages, watches.
import { type Choice, metaOf, type Step } from './choice.ts';
import { type Kind, pathOf } from './kinds.ts';
import type { Side } from './sides.ts';

export function get({ random, kind, namespace, name }: Choice): Step {
  const query = random.weighted([
    [6, ''],
    [1, '?resourceVersion=0'],
    [1, '?resourceVersion=1'],
  ]);
  const part = kind.status && random.chance(0.2) ? '/status' : '';
  const sent = { method: 'GET', path: `${pathOf(kind, namespace)}/${name}${part}${query}` };
  return { make: () => sent, gives: { kind, namespace } };
}

const selectors = [
  'tier=web',
  'tier!=web',
  'tier in (web,db),!env',
  'env',
  'tier notin (db)',
  'tier=web,env=prod',
  'a b',
  'tier=-',
];
const fields = [
  'metadata.name=a',
  'metadata.name!=a',
  'metadata.name=a,metadata.name=b',
  'spec.nothing=x',
  'metadata.name',
];

/** A real server has objects of its own among the others. */
const isOurs = ({ custom, plural }: Kind) => custom || plural === 'secrets';

export function list({ random, kind, namespace, earlier }: Choice): Step {
  const wide = isOurs(kind) && random.chance(0.3) ? undefined : namespace;
  const query = new URLSearchParams({
    ...random.some(0.3, { labelSelector: random.pick(selectors) }),
    ...random.some(0.15, { fieldSelector: random.pick(fields) }),
    ...random.some(0.4, { limit: random.pick(['1', '2', '5', '0', 'x']) }),
  });
  const lists = earlier.filter((one) => one.list && one.kind === kind && one.namespace === wide).slice(-5);
  const from = lists.length > 0 && random.chance(0.5) ? random.pick(lists).index : undefined;
  const use = random.pick(['continue', 'version', 'both', 'version']);
  const version = random.pick(['', '0', '0', 'x']);
  const match = random.pick(['', '', '', 'Exact', 'NotOlderThan']);
  const make = (side: Side) => {
    const mine = new URLSearchParams(query);
    const { resourceVersion, continue: token } = from === undefined ? {} : metaOf(side.answers[from]);
    // A real server gives an empty one for the last page of a custom kind.
    if (use !== 'version' && typeof token === 'string' && token !== '') mine.set('continue', token);
    if (use !== 'continue' && typeof resourceVersion === 'string') mine.set('resourceVersion', resourceVersion);
    else if (version !== '' && from === undefined) mine.set('resourceVersion', version);
    // The fake does not check which options go together.
    const takesMatch = !['', '0'].includes(mine.get('resourceVersion') ?? '') && !mine.has('continue');
    if (takesMatch && match !== '') mine.set('resourceVersionMatch', match);
    return { method: 'GET', path: `${pathOf(kind, wide)}?${mine}` };
  };
  return { make, gives: { kind, namespace: wide, list: true } };
}

/** A watch from an earlier version, or of what is there; it ends after a second. */
export function watch({ random, kind, namespace, earlier }: Choice): Step {
  const wide = isOurs(kind) && random.chance(0.3) ? undefined : namespace;
  const query = new URLSearchParams({
    watch: random.pick(['true', '1']),
    timeoutSeconds: '1',
    ...random.some(0.3, { labelSelector: random.pick(selectors) }),
    ...random.some(0.1, { fieldSelector: random.pick(fields) }),
    ...random.some(0.2, { allowWatchBookmarks: 'true' }),
    ...random.pick<Readonly<Record<string, string>>>([
      {},
      {},
      { sendInitialEvents: 'true', resourceVersionMatch: 'NotOlderThan', allowWatchBookmarks: 'true' },
      { sendInitialEvents: 'false', resourceVersionMatch: 'NotOlderThan' },
    ]),
  });
  const lists = earlier.filter((one) => one.list && one.kind === kind);
  const from = lists.length > 0 && random.chance(0.7) ? random.pick(lists).index : undefined;
  const version = random.pick(['', '0']);
  const make = (side: Side) => {
    const mine = new URLSearchParams(query);
    const { resourceVersion } = from === undefined ? { resourceVersion: version } : metaOf(side.answers[from]);
    if (typeof resourceVersion === 'string' && resourceVersion !== '') mine.set('resourceVersion', resourceVersion);
    return { method: 'GET', path: `${pathOf(kind, wide)}?${mine}` };
  };
  return { make };
}
