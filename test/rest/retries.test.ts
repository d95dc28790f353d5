// When a request is sent again, and how often in all: the same for every client.
import assert from 'node:assert/strict';
import { createServer } from 'node:https';
import { text } from 'node:stream/consumers';
import { describe, type TestContext, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { type ApiException, CoreV1Api } from '@kubernetes/client-node';
import type { RestConfig } from '../../src/index.ts';
import { startConfigAt } from '../fixtures/config-at.ts';
import { tlsOptions } from '../fixtures/raw-h2.ts';
import { statusOf } from '../fixtures/requests.ts';

const path = '/api/v1/namespaces';
const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'x' } };

/** Each gives the status of its answer. */
const clients: Readonly<Record<string, (config: RestConfig, method: 'GET' | 'POST') => Promise<number>>> = {
  'config.fetch': async (config, method) => {
    const body = method === 'POST' ? { body: JSON.stringify(namespace) } : {};
    const response = await config.fetch(path, { method, ...body });
    await response.text();
    return response.status;
  },
  'config.dispatcher': ({ dispatcher, access }, method) => {
    const body = method === 'POST' ? JSON.stringify(namespace) : null;
    return statusOf(`${access.cluster.server}${path}`, { dispatcher, method, body });
  },
  'a generated client': async (config, method) => {
    const core = config.makeApiClient(CoreV1Api);
    const call = method === 'GET' ? core.listNamespace() : core.createNamespace({ body: namespace });
    return call.then(
      () => 200,
      (error: ApiException<unknown>) => error.code,
    );
  },
};

/** A server over HTTP/1.1 that answers 200 unless `answer` has done something else with a request, counted from 1. */
async function startServer(
  t: TestContext,
  answer: (number: number, ...exchange: Parameters<import('node:http').RequestListener>) => boolean,
) {
  const bodies: string[] = [];
  const server = createServer(tlsOptions, async (incoming, response) => {
    if (incoming.url === path) {
      bodies.push(await text(incoming));
      if (answer(bodies.length, incoming, response)) return;
    }
    response.setHeader('content-type', 'application/json').end('{"items":[]}');
  });
  const { config } = await startConfigAt(t, server);
  return { config, bodies };
}

// They wait for pauses between tries: side by side.
describe('a request', { concurrency: true }, () => {
  for (const [client, send] of Object.entries(clients)) {
    describe(`through ${client}`, { concurrency: true }, () => {
      for (const method of ['GET', 'POST'] as const) {
        for (const status of [429, 503]) {
          test(`is sent again after a ${status} with Retry-After (${method})`, async (t) => {
            const { config, bodies } = await startServer(t, (number, _incoming, response) => {
              if (number > 1) return false;
              response.writeHead(status, { 'retry-after': '1' }).end('{"kind":"Status"}');
              return true;
            });
            assert.equal(await send(config, method), 200);
            const sent = method === 'GET' ? '' : namespace;
            const arrived = bodies.map((body) => (body === '' ? body : JSON.parse(body)));
            assert.deepEqual(arrived, [sent, sent]);
          });
        }
      }

      for (const [what, headers, times] of [
        ['goes out eleven times at most, and its caller gets the last answer', { 'retry-after': '0' }, 11],
        ['without Retry-After is not sent again', {}, 1],
      ] as const) {
        test(what, async (t) => {
          const { config, bodies } = await startServer(t, (_number, _incoming, response) => {
            response.writeHead(503, headers).end('{}');
            return true;
          });
          assert.equal(await send(config, 'GET'), 503);
          assert.equal(bodies.length, times);
        });
      }
    });
  }

  test('whose connections are reset goes out eleven times at most, beside other traffic', async (t) => {
    const { config, bodies } = await startServer(t, (_number, { socket }) => {
      socket.destroy();
      return true;
    });
    let over = false;
    // Most of its connections have carried answers before they are reset.
    const others = async () => {
      for (; !over; await pause(50)) await (await config.fetch('/version')).text();
    };
    const traffic = Promise.all([others(), others()]);
    await assert.rejects(config.fetch(path));
    over = true;
    await traffic;
    assert.equal(bodies.length, 11);
  });
});
