import { CredentialProviders, type RestConfig } from '../../../../src/index.ts';

/** The config of a ClusterProfile, where the test gives one and no kubeconfig. */
export const config: RestConfig | undefined = read();

function read(): RestConfig | undefined {
  const { PROFILE, PROVIDER_FILE = '' } = process.env;
  return PROFILE === undefined ? undefined : CredentialProviders.fromFile(PROVIDER_FILE).getConfig(JSON.parse(PROFILE));
}
