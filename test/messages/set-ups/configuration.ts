import { spawnSync } from 'node:child_process';
import type { TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { CredentialProviders, RestConfig } from '../../../src/index.ts';
import { kubeconfig } from '../../fixtures/kubeconfigs.ts';
import { writeInput } from '../../fixtures/program.ts';
import { configWith, list, type SetUps } from '../set-up.ts';

const fromArgs = (...argv: string[]) => CredentialProviders.fromArgs(argv);

const fromFile = async (t: TestContext, text: string) =>
  CredentialProviders.fromFile(await writeInput(t, 'providers.yaml', text));

async function contextWith(t: TestContext, text: string, context?: string) {
  const path = await writeInput(t, 'config', text);
  return list(RestConfig.fromKubeConfig({ path }, context === undefined ? {} : { context }));
}

/** What the operator or the program configures. */
export const configuration: SetUps = {
  'a flag is misspelt': () => fromArgs('--clusterprofile-acess-provider=google=plugin'),
  'a policy of a flag is misspelt': () =>
    fromArgs('--clusterprofile-access-provider=google=plugin', '--clusterprofile-sourced-env-vars-policy=Repalce'),
  'a command has a quote too many': () => fromArgs('--clusterprofile-access-provider=google=plugin "--flag'),
  'two flags configure one access type': () =>
    fromArgs('--clusterprofile-access-provider=google=a', '--clusterprofile-access-provider=google=b'),
  'the provider file is not there': () => CredentialProviders.fromFile('/etc/clusterprofile/providers.yaml'),
  'the provider file has a misspelt field and a wrong version': (t) =>
    fromFile(t, 'providers:\n- name: google\n  execConfig:\n    apiVersion: v1\n    comand: plugin\n'),
  'the provider file is no YAML': (t) => fromFile(t, 'providers:\n- name: google\n   execConfig: {\n'),
  'an option is misspelt': () => Reflect.construct(CredentialProviders, [[], { timeoutMS: 1_000 }]),
  'hardened, without what it needs': () =>
    fromArgs('--clusterprofile-access-provider=google=p', '--clusterprofile-hardened'),
  'a config is used after its close()': async (t) => {
    const config = await configWith(t);
    await config.close();
    return list(config);
  },
  'a kubeconfig is not there': () => RestConfig.fromKubeConfig({ path: '/etc/fleet/hub.kubeconfig' }),
  'a kubeconfig has no such context': (t) => contextWith(t, kubeconfig({}), 'stagging'),
  "a kubeconfig's token file is not there": (t) =>
    contextWith(t, kubeconfig({ exec: null, user: { tokenFile: '/etc/fleet/token' } })),
  'Node is too old': () => {
    const old = `data:text/javascript,Object.defineProperty(process,'versions',{value:{...process.versions,node:'20.20.2'}})`;
    const entry = new URL('../../../dist/index.js', import.meta.url).href;
    const code = `import(${JSON.stringify(entry)}).catch((error) => console.log(error.message))`;
    const { stdout } = spawnSync(process.execPath, ['--import', old, '--input-type=module', '-e', code], {
      encoding: 'utf8',
      cwd: fileURLToPath(new URL('.', import.meta.url)),
    });
    throw new Error(stdout.trim());
  },
};
