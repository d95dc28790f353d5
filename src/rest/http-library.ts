import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { createGunzip, gunzip as gunzipWithCallback } from 'node:zlib';
import { type RequestContext, ResponseContext, wrapHttpLibrary } from '@kubernetes/client-node';
import { type Dispatcher, request } from 'undici';

const gunzip = promisify(gunzipWithCallback);

/**
 * client-node's generated clients on `undici.request` instead of `fetch`, which costs half of the rate. Answers as
 * client-node's own library does, but does not follow redirects.
 */
export function createHttpLibrary(dispatcher: Dispatcher): ReturnType<typeof wrapHttpLibrary> {
  return wrapHttpLibrary({ send: (context) => send(context, dispatcher) });
}

async function send(context: RequestContext, dispatcher: Dispatcher): Promise<ResponseContext> {
  const signal = context.getSignal();
  const body = context.getBody();
  try {
    const response = await request(context.getUrl(), {
      method: context.getHttpMethod().toString() as Dispatcher.HttpMethod, // an enum with the same names
      headers: { 'accept-encoding': 'gzip', 'user-agent': userAgent, ...context.getHeaders() },
      dispatcher,
      ...(body === undefined ? {} : { body: body as Dispatcher.DispatchOptions['body'] & {} }), // fetch's bodies are undici's
      ...(signal ? { signal } : {}),
    });
    return new ResponseContext(response.statusCode, joinHeaders(response.headers), toBody(response));
  } catch (error) {
    throw translate(error, signal);
  }
}

const userAgent = 'kubernetes-client-javascript (clusterprofile-credentials)';

function joinHeaders(headers: Dispatcher.ResponseData['headers']): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, [value].flat().join(', ')]],
    ),
  );
}

function toBody({ body, headers }: Dispatcher.ResponseData) {
  const gzipped = headers['content-encoding'] === 'gzip';
  const bytes = async () => {
    try {
      const raw = Buffer.from(await body.arrayBuffer());
      return gzipped ? await gunzip(raw) : raw;
    } catch (error) {
      throw translate(error, undefined);
    }
  };
  return {
    text: async () => (await bytes()).toString('utf8'),
    binary: bytes,
    stream: () => {
      if (!gzipped) return Readable.toWeb(body);
      const unzipped = createGunzip();
      body.on('error', (error) => unzipped.destroy(error)).pipe(unzipped);
      return Readable.toWeb(unzipped);
    },
  };
}

/** As fetch does it: the caller's own reason for an abort, and everything else as the cause of a TypeError. */
function translate(error: unknown, signal: AbortSignal | undefined): unknown {
  return signal?.aborted ? signal.reason : new TypeError('fetch failed', { cause: error });
}
