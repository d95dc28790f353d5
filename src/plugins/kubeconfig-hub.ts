/** The cluster of KUBECONFIG or ~/.kube/config, by the library's own reader and connections. Loaded if there is no pod; `hub.ts` has its type. */
import { readDefault } from '../rest/from-kubeconfig.ts';
import { sendRequest } from '../rest/request/answer.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';

export function hubOfKubeconfig(answerMs: number, maxAnswerBytes: number) {
  const { connections, destination, namespace } = readDefault({ logger: { warn: () => {} } });
  const { server } = destination.cluster;
  const dispatcher = new AuthenticatedDispatcher(connections, destination);
  const send = async (method: 'GET' | 'POST', path: string, body?: object) => {
    const { origin, pathname } = new URL(`${server}/api/v1/namespaces/${path}`);
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const options = { origin, path: pathname, method, headers, ...(body ? { body: JSON.stringify(body) } : {}) };
    const answer = await sendRequest(dispatcher, options, AbortSignal.timeout(answerMs), maxAnswerBytes);
    return { statusCode: answer.statusCode, text: answer.body.toString() };
  };
  return { server, namespace: namespace?.trim() || 'default', send };
}
