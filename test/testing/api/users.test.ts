import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { startApi } from '../../fixtures/api.ts';

const reviews = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'bot' } };
const tokens = '/api/v1/namespaces/default/serviceaccounts/bot/token';

describe('a SelfSubjectReview', () => {
  test('says who asks', async (t) => {
    const known = {
      t: 'jane',
      sa: 'system:serviceaccount:ns:bot',
      full: { username: 'joe', uid: 'u', groups: ['dev'], extra: { x: ['y'] } },
    };
    const { send } = await startApi(t, { tokens: known });
    const who = async (token: string) => {
      const { code, body } = await send('POST', reviews, {}, { authorization: `Bearer ${token}` });
      assert.equal(code, 201);
      return body.status.userInfo;
    };
    assert.deepEqual(await who('t'), { username: 'jane', groups: ['system:authenticated'] });
    const groups = ['system:serviceaccounts', 'system:serviceaccounts:ns', 'system:authenticated'];
    assert.deepEqual(await who('sa'), { username: 'system:serviceaccount:ns:bot', groups });
    assert.deepEqual(await who('full'), {
      username: 'joe',
      uid: 'u',
      groups: ['dev', 'system:authenticated'],
      extra: { x: ['y'] },
    });
  });

  test('of a request that impersonates a user is a 501', async (t) => {
    const { send } = await startApi(t);
    const { code, body } = await send('POST', reviews, {}, { 'Impersonate-User': 'jane' });
    assert.equal(code, 501);
    assert.match(body.message, /impersonates a user/);
  });
});

describe('a TokenRequest', () => {
  test('gives a token that is believed until it expires, or its account goes', async (t) => {
    let now = Date.UTC(2026, 0, 1);
    const { cluster, send } = await startApi(t, { clock: () => now });
    cluster.add(account);
    const mint = async (body: object) => (await send('POST', tokens, body)).body;
    const { status, spec, kind } = await mint({ spec: { expirationSeconds: 600 } });
    assert.deepEqual(
      [kind, spec.expirationSeconds, status.expirationTimestamp],
      ['TokenRequest', 600, '2026-01-01T00:10:00Z'],
    );
    const whoHas = async (token: string) => {
      const { code, body } = await send('POST', reviews, {}, { authorization: `Bearer ${token}` });
      return code === 201 ? body.status.userInfo.username : code;
    };
    assert.equal(await whoHas(status.token), 'system:serviceaccount:default:bot');
    now += 599_999;
    assert.equal(await whoHas(status.token), 'system:serviceaccount:default:bot');
    now += 1;
    assert.equal(await whoHas(status.token), 401);
    const { status: other } = await mint({ spec: { audiences: ['vault'] } });
    assert.equal(await whoHas(other.token), 401, 'it is for somebody else');
    const { status: again } = await mint({});
    assert.equal(await whoHas(again.token), 'system:serviceaccount:default:bot');
    assert.equal(await whoHas(`${again.token.slice(0, -4)}AAAA`), 401);
    cluster.delete(account);
    cluster.add(account);
    assert.equal(await whoHas(again.token), 401, 'it was another account');
  });

  test('is refused for a time that is too short, and for an account that is not there', async (t) => {
    const { cluster, send } = await startApi(t);
    assert.equal((await send('POST', tokens, {})).code, 404);
    cluster.add(account);
    const { code, body } = await send('POST', tokens, { spec: { expirationSeconds: 599 } });
    assert.deepEqual([code, body.details.causes[0].field], [422, 'spec.expirationSeconds']);
    assert.equal((await send('GET', tokens)).code, 405);
    assert.equal((await send('POST', tokens, { spec: { boundObjectRef: { kind: 'Pod' } } })).code, 501);
  });
});
