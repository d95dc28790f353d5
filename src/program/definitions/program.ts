/** Verbs about the program itself. */
import { outputOptions } from '../option-groups.ts';
import type { Verb } from '../verb.ts';

export const explain: Verb = {
  name: 'explain',
  arguments: '[CODE]',
  completes: 'nothing',
  summary: 'say what the code of an error means, why it happens and what to do',
  description:
    'Prints what docs/errors.md says about the code of an error, as printed in brackets before the message. Without a code, all codes.',
  options: [],
  examples: [{ what: 'error [PLUGIN_NOT_FOUND]: ...', args: 'explain PLUGIN_NOT_FOUND' }],
  load: () => import('../verbs/explain.ts'),
};

export const version: Verb = {
  name: 'version',
  summary: 'print the versions of this program and of Node',
  description: 'Prints what a bug report needs: the versions of this program and of Node, and the platform.',
  options: [...outputOptions('json', 'yaml')],
  examples: [{ what: 'for a bug report', args: 'version' }],
  load: () => import('../verbs/version.ts'),
};

export const completion: Verb = {
  name: 'completion',
  arguments: '<SHELL>',
  completes: 'shells',
  summary: 'print the script that makes bash, zsh or fish complete command lines',
  description:
    'Prints a script for bash, zsh or fish. With it the shell completes verbs, options, their values, and the names of ClusterProfiles, namespaces and contexts. kubectl completes `kubectl clusterprofile` by itself, where kubectl_complete-clusterprofile is in PATH.',
  options: [],
  examples: [
    { what: 'bash: in ~/.bashrc', args: 'completion bash > ~/.clusterprofile.bash && . ~/.clusterprofile.bash' },
    { what: 'zsh: in a folder of fpath, before compinit', args: 'completion zsh > ~/.zfunc/_clusterprofile' },
    { what: 'fish', args: 'completion fish > ~/.config/fish/completions/clusterprofile.fish' },
  ],
  load: () => import('../verbs/completion.ts'),
};
