#!/bin/sh
# A credential plugin in shell: prints the token that lies in the file which its first argument names.
set -eu
token=$(cat "${1:?usage: token-file.sh FILE}")
info=${KUBERNETES_EXEC_INFO:?is not set: this is a credential plugin, run by a Kubernetes client}
# The answer has to be in the version that was asked for. Where you have jq: jq -r .apiVersion. Without it: the first text that is
# a version of this protocol; what the profile's extension holds comes later.
group=client.authentication.k8s.io
rest=${info#*'"apiVersion":'*"$group/"}
[ "$rest" != "$info" ] || { echo 'KUBERNETES_EXEC_INFO has no apiVersion of this protocol' >&2; exit 1; }
printf '{"kind":"ExecCredential","apiVersion":"%s/%s","status":{"token":"%s"}}\n' "$group" "${rest%%'"'*}" "$token"
