/**
 * For tests: an API server within the process, and throw-away plugins.
 *
 * @module clusterprofile-credentials/testing
 */
import '../util/node-version.ts';

export type { User } from './api/tokens.ts';
export {
  type CertificateAuthority,
  type CertificateRequest,
  createCertificateAuthority,
  type IssuedCertificate,
} from './certificates.ts';
export { FakeCluster } from './fake-cluster.ts';
export type { Behaviour, FakeClusterOptions, FakeClusterStats, SeenRequest, Tokens } from './fake-cluster-options.ts';
export type { ObjectName, ObjectsOfKind, StoredTestObject, TestObject } from './objects.ts';
export { type PluginAnswer, type PluginPlace, type TestPlugin, writePlugin } from './plugin-script.ts';
