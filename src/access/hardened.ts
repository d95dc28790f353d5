import type { Problem } from '../errors/index.ts';
import type { ConfiguredProvider } from './provider.ts';

/** Returns which rules of a hardened controller a provider lacks: where its credential may go, and what profiles may add. */
export function hardeningProblems(providers: readonly ConfiguredProvider[]): readonly Problem[] {
  return providers.flatMap((provider) => {
    const { name, profileSourcedCLIArgsPolicy, profileSourcedEnvVarsPolicy, allowInsecureTLS } = provider;
    const messages: string[] = [];
    const required = (field: 'allowedServers' | 'allowedArgs' | 'allowedEnvVars', what: string) => {
      if (provider[field]) return;
      const flag = `--clusterprofile-access-provider-option '${name}=${field}=[...]'`;
      messages.push(`has no ${field}, which hardened requires: list ${what}, in the provider file or with ${flag}`);
    };
    required('allowedServers', 'the servers that its credential may go to');
    if (profileSourcedCLIArgsPolicy !== 'Ignore') required('allowedArgs', 'the arguments that profiles may add');
    if (profileSourcedEnvVarsPolicy !== 'Ignore') required('allowedEnvVars', 'the variables that profiles may set');
    if (allowInsecureTLS) messages.push('has allowInsecureTLS: true, which hardened forbids: take it out');
    return messages.map((message) => ({ path: `provider ${name}`, message }));
  });
}
