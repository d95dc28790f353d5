/** What the identity of the plugin may do on the cluster: `--can-i`, and whether it may do anything at all. */
import { nearest } from '../access/schema-problems.ts';
import { redact } from '../redaction/known-secrets.ts';
import { printable } from '../util/printable.ts';
import { isAnonymous, refuseUnavailable } from './answers.ts';
import type { Answer, ApiClient } from './api-client.ts';
import { at, listAt, textAt } from './profile.ts';
import { type Found, StageFailure } from './stages.ts';

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
): Promise<Found> {
  const review = async (kind: string, spec: object) => {
    const post = { apiVersion: 'authorization.k8s.io/v1', kind, spec };
    return client.request(`${path}/${kind.toLowerCase()}s`, { signal, post });
  };
  const known = resourceFinder(client, signal);
  const decisions = await Promise.all(
    rights.map(async ({ text, attributes }) => {
      const [answer, unknown] = await Promise.all([
        review('SelfSubjectAccessReview', { resourceAttributes: attributes }),
        known(attributes),
      ]);
      const { isAllowed, reason } = decisionOf(answer);
      // Who may do everything may do this too, and it is a mistake all the same.
      return { right: text, attributes, isAllowed: isAllowed && unknown === undefined, reason: unknown ?? reason };
    }),
  );
  const texts = (isAllowed: boolean) =>
    decisions
      .filter((decision) => decision.isAllowed === isAllowed)
      .map(({ right, reason }) => `${right}${reason === '' || isAllowed ? '' : ` (${reason})`}`)
      .join(', ');
  const shown = decisions.map(({ right, isAllowed }) => ({ right, isAllowed }));
  const denied = decisions.find(({ isAllowed }) => !isAllowed);
  if (rights.length > 0 && !denied) {
    return { message: printable(`it may ${texts(true)}`, maxBytes), rights: shown };
  }
  const namespace = denied?.attributes.namespace ?? 'default';
  const warnings = mayDoNothing(await review('SelfSubjectRulesReview', { namespace }))
    ? [`no role allows this identity anything, in the whole cluster or in namespace ${printable(namespace, 256)}`]
    : [];
  if (denied) {
    const hint =
      'bind a Role or ClusterRole with these rights to this identity, or correct --can-i; outside the core group a resource needs its group: deployments.apps';
    const message = printable(`it may not ${texts(false)}`, maxBytes);
    return { message, failed: { hint }, warnings, rights: shown };
  }
  const message = "not checked: ask for the rights that your controller needs, for example --can-i 'list pods'";
  return { message, warnings, ...(warnings.length > 0 ? {} : { skipped: true }) };
}

/** Verbs of resources that an API server does not serve: `impersonate users`. */
const virtual = new Set(['impersonate', 'bind', 'escalate', 'sign', 'approve', 'attest', 'use']);

/** A right to what does not exist is denied without a reason, or allowed to who may do all. What discovery does not answer is taken to exist. */
function resourceFinder(client: ApiClient, signal: AbortSignal) {
  const groups = new Map<string, Promise<readonly string[] | 'no such group' | undefined>>();
  const read = async (group: string) => {
    let served = '/api/v1';
    if (group !== '') {
      const { statusCode, isNotFound, body } = await client.request(`/apis/${encodeURIComponent(group)}`, { signal });
      if (isNotFound) return 'no such group';
      const version = textAt(body, 'preferredVersion', 'groupVersion');
      if (statusCode !== 200 || version === undefined) return undefined;
      served = `/apis/${version}`;
    }
    const { statusCode, body } = await client.request(served, { signal });
    const names = listAt(body, 'resources').flatMap((one) => textAt(one, 'name') ?? []);
    return statusCode === 200 && names.length > 0 ? names : undefined;
  };
  return async ({ verb, group, resource, subresource }: Right['attributes']): Promise<string | undefined> => {
    if (resource === '*' || group === '*' || virtual.has(verb)) return undefined;
    const found = groups.get(group) ?? read(group);
    groups.set(group, found);
    const names = await found;
    if (names === undefined) return undefined;
    if (names === 'no such group') return `the cluster has no API group ${group}`;
    const wanted = subresource === undefined ? resource : `${resource}/${subresource}`;
    if (names.includes(wanted)) return undefined;
    const meant = nearest(wanted, names);
    return `there is no resource ${wanted} in ${group === '' ? 'the core group' : group}${meant ? `: did you mean ${meant}?` : ''}`;
  };
}

function decisionOf(answer: Answer): { readonly isAllowed: boolean; readonly reason: string } {
  if (isAnonymous(answer))
    throw new StageFailure('the credential did not arrive: the API server took the request as system:anonymous');
  refuseUnavailable(answer);
  const { statusCode, body, message } = answer;
  const allowed = at(body, 'status', 'allowed');
  if (statusCode !== 201 || typeof allowed !== 'boolean') {
    throw new StageFailure(
      `the cluster does not say what the identity may do (status ${statusCode}${message === undefined ? '' : `, ${message}`})`,
      'bind the ClusterRole system:basic-user to the identity that the plugin gives',
    );
  }
  const reason = [textAt(body, 'status', 'reason'), textAt(body, 'status', 'evaluationError')].filter(Boolean);
  return { isAllowed: allowed, reason: redact(reason.join('; ')) };
}

/** Nothing but what every identity may: to ask about itself, and from Kubernetes 1.37 on to read trust bundles. `false` if that is not sure. */
function mayDoNothing({ statusCode, body }: Answer): boolean {
  if (statusCode !== 201 || at(body, 'status', 'incomplete') !== false) return false;
  const resources = listAt(body, 'status', 'resourceRules').flatMap((rule) => listAt(rule, 'resources'));
  const everyones = /^(?:selfsubject\w*reviews|clustertrustbundles)$/;
  return resources.every((resource) => typeof resource === 'string' && everyones.test(resource));
}
