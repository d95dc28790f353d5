export {
  type CertificateAuthority,
  type CertificateRequest,
  createCertificateAuthority,
  type IssuedCertificate,
} from './certificates.ts';
export {
  type Behaviour,
  FakeCluster,
  type FakeClusterOptions,
  type FakeClusterStats,
  type SeenRequest,
} from './fake-cluster.ts';
export { type PluginAnswer, type TestPlugin, writePlugin } from './plugin-script.ts';
