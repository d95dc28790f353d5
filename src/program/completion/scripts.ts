/** Scripts that make a shell ask this program what could come next. */

export type Shell = keyof typeof scripts;

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
