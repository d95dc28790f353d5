/** What the identity of the plugin may do on the cluster: `--can-i`, and whether it may do anything at all. */
import { redact } from '../redaction/redact.ts';
import { printable } from '../util/printable.ts';
import type { Answer, ApiClient } from './api-client.ts';
import { listAt, textAt } from './fields.ts';
import { type Found, refuseUnavailable, StageFailure } from './stages.ts';

/** One `--can-i`. */
export interface Right {
  /** As it was given. */
  readonly text: string;
  /** Of a SelfSubjectAccessReview. */
  readonly attributes: {
    readonly verb: string;
    readonly group: string;
    readonly resource: string;
    readonly subresource?: string;
    readonly name?: string;
    readonly namespace?: string;
  };
}

const path = '/apis/authorization.k8s.io/v1';
const maxBytes = 1_024;

export async function checkPermissions(
  client: ApiClient,
  rights: readonly Right[],
  signal: AbortSignal,
): Promise<Found<void>> {
  const review = async (kind: string, spec: object) => {
    const post = { apiVersion: 'authorization.k8s.io/v1', kind, spec };
    return client.request(`${path}/${kind.toLowerCase()}s`, { signal, post });
  };
  const decisions = await Promise.all(
    rights.map(async ({ text, attributes }) => {
      const answer = await review('SelfSubjectAccessReview', { resourceAttributes: attributes });
      return { text, ...decisionOf(answer) };
    }),
  );
  const texts = (isAllowed: boolean) =>
    decisions
      .filter((decision) => decision.isAllowed === isAllowed)
      .map(({ text, reason }) => `${text}${reason === '' || isAllowed ? '' : ` (${reason})`}`)
      .join(', ');
  const denied = decisions.find(({ isAllowed }) => !isAllowed);
  if (rights.length > 0 && !denied) {
    return { message: printable(`it may ${texts(true)}`, maxBytes), value: undefined };
  }
  const namespace = rights.find(({ text }) => text === denied?.text)?.attributes.namespace ?? 'default';
  const warnings = mayDoNothing(await review('SelfSubjectRulesReview', { namespace }))
    ? [`no role allows this identity anything, in the whole cluster or in namespace ${printable(namespace, 256)}`]
    : [];
  if (denied) {
    const hint =
      'bind a Role or ClusterRole with these rights to this identity; outside the core group a resource needs its group: deployments.apps';
    return { message: printable(`it may not ${texts(false)}`, maxBytes), failed: { hint }, warnings, value: undefined };
  }
  const message = 'none were asked for with --can-i';
  return { message, warnings, ...(warnings.length > 0 ? {} : { skipped: true }), value: undefined };
}

function decisionOf(answer: Answer): { readonly isAllowed: boolean; readonly reason: string } {
  refuseUnavailable(answer);
  const { statusCode, body, message } = answer;
  const allowed: unknown = Object(Object(body).status).allowed;
  if (statusCode !== 201 || typeof allowed !== 'boolean') {
    throw new StageFailure(
      `the cluster does not say what the identity may do (status ${statusCode}${message === undefined ? '' : `, ${message}`})`,
      'bind the ClusterRole system:basic-user to the identity that the plugin gives',
    );
  }
  const reason = [textAt(body, 'status', 'reason'), textAt(body, 'status', 'evaluationError')].filter(Boolean);
  return { isAllowed: allowed, reason: redact(reason.join('; ')) };
}

/**
 * Nothing but what every identity may: to ask about itself, and from Kubernetes 1.37 on, as a service account, to read trust bundles.
 * `false` where the cluster does not know for sure.
 */
function mayDoNothing({ statusCode, body }: Answer): boolean {
  const status: unknown = Object(body).status;
  if (statusCode !== 201 || Object(status).incomplete !== false) return false;
  const resources = listAt(status, 'resourceRules').flatMap((rule) => listAt(rule, 'resources'));
  const everyones = /^(?:selfsubject\w*reviews|clustertrustbundles)$/;
  return resources.every((resource) => typeof resource === 'string' && everyones.test(resource));
}
