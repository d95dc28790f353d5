/** `completion SHELL`: the script that makes a shell complete this program's command lines. */
import { type ExitCode, exitCodes, Failure } from '../failure.ts';
import type { Call } from '../verb.ts';

export async function run({ args, terminal }: Call): Promise<ExitCode> {
  const [shell = ''] = args;
  const script = Object.entries(scripts).find(([name]) => name === shell)?.[1];
  if (script === undefined) {
    throw Failure.usage(`there is no completion for ${shell}`, `there is one for ${Object.keys(scripts).join(', ')}`);
  }
  await terminal.write(script);
  return exitCodes.ok;
}

/** Nothing of the command line is evaluated: its words go to the program as they are. */
export const scripts = {
  bash: `# bash completion for clusterprofile
_clusterprofile() {
  local line directive=4
  COMPREPLY=()
  while IFS= read -r line; do
    case $line in
      :*) directive=\${line#:} ;;
      *) COMPREPLY+=("\${line%%$'\\t'*}") ;;
    esac
  done < <(clusterprofile __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  # Without suggestions bash offers files by default.
  if [ "$directive" != 0 ]; then compopt +o default 2>/dev/null; fi
}
complete -o default -F _clusterprofile clusterprofile
`,
  zsh: `#compdef clusterprofile
# zsh completion for clusterprofile
_clusterprofile() {
  local -a suggestions
  local line directive=4
  for line in "\${(@f)$(clusterprofile __complete "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    case $line in
      :*) directive=\${line#:} ;;
      *) suggestions+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}") ;;
    esac
  done
  if (( \${#suggestions} )); then
    _describe clusterprofile suggestions
  elif [[ $directive == 0 ]]; then
    _files
  fi
}
if [[ \${funcstack[1]} == _clusterprofile ]]; then
  _clusterprofile "$@"
else
  compdef _clusterprofile clusterprofile
fi
`,
  fish: `# fish completion for clusterprofile
function __clusterprofile_answer
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    clusterprofile __complete $words[2..-1] "$current" 2>/dev/null
end
function __clusterprofile_suggestions
    __clusterprofile_answer | string match -v ':*'
end
function __clusterprofile_wants_files
    __clusterprofile_answer | string match -q ':0'
end
complete -c clusterprofile -f -a '(__clusterprofile_suggestions)'
complete -c clusterprofile -n __clusterprofile_wants_files -F
`,
} as const;
