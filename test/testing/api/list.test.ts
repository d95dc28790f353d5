import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { type Body, configMap, configMaps, labelled, startApi } from '../../fixtures/api.ts';

const namesOf = (list: Body): string[] => list.items.map(({ metadata }: Body) => metadata.name);

describe('a label selector', () => {
  const labels: readonly (readonly [name: string, labels: Readonly<Record<string, string>>])[] = [
    ['a', { tier: 'web', env: 'prod' }],
    ['b', { tier: 'web', env: 'test', size: '7' }],
    ['c', { tier: 'db', 'example.com/x': '' }],
    ['d', {}],
  ];
  const selections = [
    ['', 'a b c d'],
    ['tier=web', 'a b'],
    ['tier==web,env!=prod', 'b'],
    ['tier!=web', 'c d'],
    ['tier in (web, db)', 'a b c'],
    ['tier notin (web)', 'c d'],
    ['tier in (web),!size', 'a'],
    ['env', 'a b'],
    [' ! env ', 'c d'],
    ['example.com/x=', 'c'],
    ['example.com/x in ()', 'c'],
    ['in in (in)', ''],
  ] as const;
  const broken = [
    'a b',
    '=a',
    'a=b,',
    'a in b',
    'a in (b',
    'a,,b',
    '!',
    'a=b c',
    'a/b/c=d',
    'a=-',
    'a>1',
    'a in ((b))',
  ];

  test('selects what it says', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(labels.map(([name, given]) => labelled(name, given)));
    for (const [selector, expected] of selections) {
      const { body } = await send('GET', `${configMaps}?labelSelector=${encodeURIComponent(selector)}`);
      assert.deepEqual(namesOf(body).join(' '), expected, selector);
    }
  });

  test('that cannot be read is a 400, and selects nothing', async (t) => {
    const { send } = await startApi(t);
    for (const selector of broken) {
      for (const what of ['', 'watch=1&']) {
        const { code, body } = await send('GET', `${configMaps}?${what}labelSelector=${encodeURIComponent(selector)}`);
        assert.deepEqual([code, body.reason], [400, 'BadRequest'], selector);
      }
    }
  });
});

describe('a field selector', () => {
  test('selects by the fields of its kind, and is a 400 for others', async (t) => {
    const { cluster, send } = await startApi(t);
    const pod = (name: string, more: object) => ({ apiVersion: 'v1', kind: 'Pod', metadata: { name }, ...more });
    cluster.add([
      pod('a', { spec: { nodeName: 'n1' }, status: { phase: 'Running' } }),
      pod('b', { spec: { nodeName: 'n2', hostNetwork: true }, status: { phase: 'Running' } }),
      pod('c', {}),
    ]);
    const selections = [
      ['metadata.name=b', 'b'],
      ['metadata.namespace=default,metadata.name!=a', 'b c'],
      ['spec.nodeName=n1', 'a'],
      ['spec.nodeName=', 'c'],
      ['status.phase=Running,spec.hostNetwork==true', 'b'],
      ['status.phase!=Running', 'c'],
      ['spec.restartPolicy=Always', 'a b c'],
    ] as const;
    for (const [selector, expected] of selections) {
      const { body } = await send('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`);
      assert.equal(namesOf(body).join(' '), expected, selector);
    }
    for (const selector of ['spec.image=x', 'metadata.name', 'metadata.name=a=b']) {
      const { code } = await send('GET', `/api/v1/pods?fieldSelector=${encodeURIComponent(selector)}`);
      assert.equal(code, 400, selector);
    }
  });
});

describe('pages', () => {
  test('show one version, whatever happens between them', async (t) => {
    const { cluster, send } = await startApi(t);
    const add = (...names: string[]) => cluster.add(names.map((name) => configMap(name)));
    add('a', 'b', 'c', 'd', 'e');
    const { body: first } = await send('GET', `${configMaps}?limit=2`);
    assert.deepEqual(namesOf(first), ['a', 'b']);
    cluster.delete(configMap('c'));
    add('bb', 'z');
    cluster.set(configMap('d', { data: { new: 'x' } }));
    const next = `${configMaps}?limit=2&continue=${first.metadata.continue}`;
    const { body: second } = await send('GET', next);
    assert.deepEqual([namesOf(second), second.items[1].data], [['c', 'd'], undefined]);
    const { body: third } = await send('GET', `${configMaps}?limit=2&continue=${second.metadata.continue}`);
    assert.deepEqual([namesOf(third), third.metadata.continue], [['e'], undefined]);
    const { resourceVersion } = first.metadata;
    assert.deepEqual(
      [second.metadata.resourceVersion, third.metadata.resourceVersion],
      [resourceVersion, resourceVersion],
    );
    assert.deepEqual(namesOf((await send('GET', configMaps)).body), ['a', 'b', 'bb', 'd', 'e', 'z']);
  });

  test('go through all namespaces in the order of their names, and through selections', async (t) => {
    const { cluster, send } = await startApi(t);
    for (const namespace of ['x', 'x-y', 'y']) {
      for (const name of ['a', 'b']) {
        cluster.add({ apiVersion: 'v1', kind: 'Secret', metadata: { namespace, name, labels: { [name]: 'yes' } } });
      }
    }
    const collect = async (path: string) => {
      const seen: string[] = [];
      for (let token = ''; ; ) {
        const { body } = await send('GET', `${path}limit=1&continue=${token}`);
        seen.push(...body.items.map(({ metadata }: Body) => `${metadata.namespace}/${metadata.name}`));
        token = body.metadata.continue ?? '';
        if (token === '') return seen.join(' ');
      }
    };
    assert.equal(await collect('/api/v1/secrets?'), 'x-y/a x-y/b x/a x/b y/a y/b');
    assert.equal(await collect('/api/v1/secrets?labelSelector=b&'), 'x-y/b x/b y/b');
    assert.equal(await collect('/api/v1/namespaces/x/secrets?'), 'x/a x/b');
  });

  test('with a broken token, or a version beside it, are a 400', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(['a', 'b'].map((name) => configMap(name)));
    const { body } = await send('GET', `${configMaps}?limit=1`);
    const forged = Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"a"}').toString('base64url');
    for (const query of [
      'continue=nonsense',
      `continue=${forged}`,
      `continue=${body.metadata.continue}&resourceVersion=1`,
      'limit=x',
      'resourceVersion=new',
    ]) {
      assert.equal((await send('GET', `${configMaps}?${query}`)).code, 400, query);
    }
  });
});

describe('the version of a list', () => {
  test('is the newest, any, at least this, or exactly this', async (t) => {
    const { cluster, send } = await startApi(t);
    cluster.add(configMap('a'));
    const { body: then } = await send('GET', configMaps);
    cluster.add(['b', 'c'].map((name) => configMap(name)));
    const { resourceVersion: version } = then.metadata;
    const { resourceVersion: now } = (await send('GET', configMaps)).body.metadata;
    const lists = [
      ['', 'a b c', now],
      ['resourceVersion=0', 'a b c', now],
      ['resourceVersion=0&limit=1', 'a b c', now],
      [`resourceVersion=${version}`, 'a b c', now],
      [`resourceVersion=${version}&resourceVersionMatch=NotOlderThan&limit=2`, 'a b', now],
      [`resourceVersion=${version}&resourceVersionMatch=Exact`, 'a', version],
      [`resourceVersion=${version}&limit=5`, 'a', version],
    ] as const;
    for (const [query, names, expected] of lists) {
      const { body } = await send('GET', `${configMaps}?${query}`);
      assert.deepEqual([namesOf(body).join(' '), body.metadata.resourceVersion], [names, expected], query);
    }
    const future = String(Number(now) + 1);
    for (const path of [`${configMaps}?resourceVersion=${future}`, `${configMaps}?limit=1&resourceVersion=${future}`]) {
      const { code, body, headers } = await send('GET', path);
      assert.deepEqual(
        [code, body.reason, body.details.causes[0].reason],
        [504, 'Timeout', 'ResourceVersionTooLarge'],
        path,
      );
      assert.equal(headers['retry-after'], '1');
    }
    cluster.compact();
    const { code, body } = await send('GET', `${configMaps}?resourceVersion=${version}&resourceVersionMatch=Exact`);
    assert.deepEqual([code, body.reason], [410, 'Expired']);
  });
});
