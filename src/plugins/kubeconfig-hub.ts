/** The cluster of KUBECONFIG or ~/.kube/config, by the library's own reader and connections. Loaded where there is no pod. */
import { sendRequest } from '../rest/answer.ts';
import { readDefault } from '../rest/from-default.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import type { Hub } from './hub.ts';

export function hubOfKubeconfig(answerMs: number, maxAnswerBytes: number): Hub {
  const { connections, destination, namespace } = readDefault({ logger: { warn: () => {} } });
  const { server } = destination.cluster;
  const dispatcher = new AuthenticatedDispatcher(connections, destination);
  const send: Hub['send'] = async (method, path, body) => {
    const { origin, pathname } = new URL(`${server}/api/v1/namespaces/${path}`);
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const options = { origin, path: pathname, method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const answer = await sendRequest(dispatcher, options, AbortSignal.timeout(answerMs), maxAnswerBytes);
    return { statusCode: answer.statusCode, text: answer.body.toString() };
  };
  return { server, namespace: namespace?.trim() || 'default', send };
}
