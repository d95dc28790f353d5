#!/bin/sh
# A credential plugin in shell: prints the token in a file. The first argument is the path of the file.
set -eu
token=$(cat "${1:?usage: token-file.sh FILE}")
info=${KUBERNETES_EXEC_INFO:?is not set: this is a credential plugin, run by a Kubernetes client}
# The answer must have the version that was asked for. With jq this is: jq -r .apiVersion. Without jq: take the first text that is
# a version of this protocol. The profile's extension comes after it.
group=client.authentication.k8s.io
rest=${info#*'"apiVersion":'*"$group/"}
[ "$rest" != "$info" ] || { echo 'KUBERNETES_EXEC_INFO has no apiVersion of this protocol' >&2; exit 1; }
printf '{"kind":"ExecCredential","apiVersion":"%s/%s","status":{"token":"%s"}}\n' "$group" "${rest%%'"'*}" "$token"
