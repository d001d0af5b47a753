#!/bin/sh
# Writes one secret of the folder into Vault, for `SVC_PUT_SECRET` of rotate.sh. All keys at once, as `svc/<secret>`.
set -eu
cd "${SVC_SECRETS:-secrets}/$1"
for key in *; do set -- "$@" "$key=@$key"; done
name=$1
shift
vault kv put -mount=secret "svc/$name" "$@"
