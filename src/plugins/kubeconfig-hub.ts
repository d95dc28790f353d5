/** The cluster of KUBECONFIG or ~/.kube/config, by the library's own reader and connections. Loaded if there is no pod; `hub.ts` has its type. */
import { readDefault } from '../rest/from-kubeconfig.ts';
import { AuthenticatedDispatcher } from '../rest/request/dispatcher.ts';
import { sendRequest } from '../rest/request/response.ts';

export function hubOfKubeconfig(answerMs: number, maxAnswerBytes: number) {
  const { connections, destination, namespace } = readDefault({ logger: { warn: () => {} } });
  const { server } = destination.cluster;
  const dispatcher = new AuthenticatedDispatcher(connections, destination);
  const send = async (path: string, post?: object) => {
    const { origin, pathname } = new URL(`${server}/api/v1/namespaces/${path}`);
    const headers = { accept: 'application/json', 'content-type': 'application/json' };
    const request = post ? { method: 'POST' as const, body: JSON.stringify(post) } : { method: 'GET' as const };
    const options = { origin, path: pathname, headers, ...request };
    const answer = await sendRequest(dispatcher, options, AbortSignal.timeout(answerMs), maxAnswerBytes);
    return { statusCode: answer.statusCode, text: answer.body.toString() };
  };
  return { server, namespace: namespace?.trim() || 'default', send };
}
