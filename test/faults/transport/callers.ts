// Whatever a caller does with a config, each way settles one promise.
import { PassThrough, Writable } from 'node:stream';
import { pipeline as joined } from 'node:stream/promises';
import { setTimeout as pause } from 'node:timers/promises';
import { CoreV1Api } from '@kubernetes/client-node';
import { type Dispatcher, fetch, pipeline, request, stream } from 'undici';
import type { RestConfig } from '../../../src/index.ts';
import type { Random } from '../../fixtures/random.ts';
import { WatchedBody } from './bodies.ts';

/** What a caller throws at its own request. */
export class Own extends Error {}

export interface Call {
  readonly config: RestConfig;
  readonly url: string;
  readonly path: string;
  readonly signal: AbortSignal;
  readonly random: Random;
  /** Bodies that it has sent. */
  readonly bodies: WatchedBody[];
  /** What it has seen that must not be. */
  readonly fault: (what: string) => void;
}

type Caller = (call: Call) => Promise<unknown>;

const slowly = async (body: AsyncIterable<unknown>, ms: number) => {
  for await (const _ of body) await pause(ms);
};

const body = ({ bodies, random }: Call) => {
  const one = new WatchedBody(random);
  bodies.push(one);
  return one;
};

const text = ({ random }: Call) => 'x'.repeat(random.pick([0, 10, 40_000, 90_000, 600_000]));

type Body = NonNullable<Dispatcher.DispatchOptions['body']>;

// undici takes more bodies than its types name.
const post = (call: Call, given: string | Buffer | Blob | AsyncIterable<Buffer>) =>
  request(call.url, {
    dispatcher: call.config.dispatcher,
    signal: call.signal,
    method: 'POST',
    body: given as Body,
  });

const get = ({ url, config: { dispatcher }, signal }: Call) => request(url, { dispatcher, signal });

export const callers: Readonly<Record<string, Caller>> = {
  'GET, read': async (call) => (await get(call)).body.text(),
  'GET, read slowly': async (call) => slowly((await get(call)).body, 4),
  'GET, not read': async (call) => {
    const answer = await get(call);
    answer.body.on('error', () => undefined);
    await pause(150 * call.random.next());
    answer.body.destroy();
  },
  'GET, left after its first piece': async (call) => {
    for await (const _ of (await get(call)).body) break;
  },
  'POST of a text': async (call) => (await post(call, text(call))).body.text(),
  'POST of a Buffer, not read': async (call) => {
    const { body: answer } = await post(call, Buffer.from(text(call)));
    answer.on('error', () => undefined).destroy();
  },
  'POST of a generator': async (call) => (await post(call, body(call))).body.text(),
  'POST of a stream': async (call) => (await post(call, body(call).stream())).body.text(),
  'POST of a stream that fails': async (call) => {
    const given = body(call).stream();
    setTimeout(() => given.destroy(new Own('the body fails')), 50 * call.random.next()).unref();
    return (await post(call, given)).body.text();
  },
  'POST of a blob': async (call) => (await post(call, new Blob([text(call)]))).body.text(),
  'fetch GET': async ({ url, config: { dispatcher }, signal }) => (await fetch(url, { dispatcher, signal })).text(),
  'fetch POST of a stream': async (call) => {
    const { url, config, signal } = call;
    const given = ReadableStream.from(body(call));
    const sent = { dispatcher: config.dispatcher, method: 'POST', body: given, duplex: 'half', signal } as const;
    return (await fetch(url, sent)).text();
  },
  'fetch, cancelled': async ({ url, config: { dispatcher }, signal }) => {
    await (await fetch(url, { dispatcher, signal })).body?.cancel();
  },
  'config.fetch': async ({ url, config, signal }) => (await config.fetch(url, { signal })).text(),
  'a generated client': ({ config }) => config.makeApiClient(CoreV1Api).listNamespace(),
  stream: async ({ url, config: { dispatcher }, signal, random }) => {
    const sink = random.pick([
      () => new PassThrough().resume(),
      () => new Writable({ write: (_chunk, _encoding, done) => void setTimeout(done, 5) }),
      () => {
        throw new Own('the factory throws');
      },
      () => new Writable({ write: (_chunk, _encoding, done) => done(new Own('the sink fails')) }),
    ]);
    await stream(url, { dispatcher, method: 'GET', signal }, sink);
  },
  pipeline: async (call) => {
    const { url, config, signal } = call;
    const through = pipeline(
      url,
      { dispatcher: config.dispatcher, method: 'POST', signal },
      ({ body: answer }) => answer,
    );
    // undici destroys it before it gives it, where a request cannot be sent: whoever listens listens too late.
    through.on('error', () => undefined);
    const given = body(call).stream();
    given.on('error', () => undefined).pipe(through);
    try {
      await joined(through, new PassThrough().resume());
    } catch (error) {
      throw through.errored ?? error;
    } finally {
      given.destroy();
    }
  },
  dispatch: (call) => dispatched(call, false),
  'dispatch, with a handler that throws': (call) => dispatched(call, true),
  watch: async (call) => slowly((await get({ ...call, url: `${call.url}&watch=true` })).body, 0),
  'watch, read slowly': async (call) => slowly((await get({ ...call, url: `${call.url}&watch=true` })).body, 40),
};

/** With a handler of its own, which pauses, aborts and throws, and counts how often it is told of the end. */
function dispatched(call: Call, throws: boolean): Promise<void> {
  const { config, path, signal, random, fault } = call;
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const throwIn = throws ? random.pick(['start', 'answer', 'data', 'end', 'error']) : '';
  const abortIn = random.pick(['', '', 'start', 'answer', 'data']);
  const sent = random.pick([null, text(call), body(call)]) as Body | null; // as above
  let ended = 0;
  const at = (where: string, controller: Dispatcher.DispatchController) => {
    if (ended > 0 && where !== 'end' && where !== 'error') fault(`a handler was told of "${where}" after the end`);
    if (abortIn === where) controller.abort(new Own('the handler aborts'));
    if (throwIn === where) throw new Own(`the handler throws in ${where}`);
  };
  const end = (settle: () => void) => {
    ended += 1;
    if (ended > 1) fault(`a handler was told of its end ${ended} times`);
    settle();
  };
  config.dispatcher.dispatch(
    { path, method: sent === null ? 'GET' : 'POST', body: sent },
    {
      onRequestStart: (controller) => {
        signal.addEventListener('abort', () => controller.abort(signal.reason), { once: true });
        if (signal.aborted) controller.abort(signal.reason);
        else at('start', controller);
      },
      onResponseStart: (controller, statusCode) => {
        if (statusCode >= 200) at('answer', controller);
        if (!random.chance(0.3)) return;
        controller.pause();
        setTimeout(() => controller.resume(), 60 * random.next()).unref();
      },
      onResponseData: (controller) => at('data', controller),
      onResponseEnd: (controller) => {
        if (throwIn !== 'end') end(resolve);
        at('end', controller);
      },
      onResponseError: (controller, error) => {
        end(() => reject(error));
        at('error', controller);
      },
    },
  );
  return promise;
}
