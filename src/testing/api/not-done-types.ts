/** Kinds of Kubernetes that this API server refuses with a clear message. */

/** Why not, by plural and group. */
export const notDoneTypes: ReadonlyMap<string, string> = new Map([
  ['bindings.', 'there is no scheduler'],
  ['componentstatuses.', 'there are no components'],
  ['apiservices.apiregistration.k8s.io', 'there is no aggregation'],
  ['horizontalpodautoscalers.autoscaling', 'they are served as v2 only, and not converted'],
  ['tokenreviews.authentication.k8s.io', 'tokens are verified for the API server only'],
  ['localsubjectaccessreviews.authorization.k8s.io', 'there is no authorization: every identity may do everything'],
  ['selfsubjectaccessreviews.authorization.k8s.io', 'there is no authorization: every identity may do everything'],
  ['selfsubjectrulesreviews.authorization.k8s.io', 'there is no authorization: every identity may do everything'],
  ['subjectaccessreviews.authorization.k8s.io', 'there is no authorization: every identity may do everything'],
]);
