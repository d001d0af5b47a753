#!/bin/sh
# Changes one secret of the running system. docs/operating/rotate.md says what each change does.
#
# usage: deploy/kubernetes/rotate.sh <secret>/<key>
#
# It changes files in ./secrets (SVC_SECRETS), and puts each changed Secret into the cluster. If External Secrets owns the Secrets,
# SVC_PUT_SECRET names a program that writes `<secret>`, its argument, into your store. A run that was interrupted continues when you
# give the same command again.
set -eu

name=${1:?usage: rotate.sh <secret>/<key>, e.g. messaging/nats-url}
secret=${name%%/*}
folder=${SVC_SECRETS:-secrets}
overlay=${SVC_OVERLAY:-deploy/kubernetes/overlays/production}
namespace=${SVC_NAMESPACE:-svc}
poll=${SVC_POLL_SECONDS:-5}
attempts=${SVC_POLL_ATTEMPTS:-60}

kube() { kubectl --namespace "$namespace" "$@"; }
say() { echo "rotate: $*" >&2; }

# Changes the files of a secret.
change() {
  if [ -n "${SVC_MAKE_SECRETS:-}" ]; then
    $SVC_MAKE_SECRETS "$folder" "$@"
  else
    docker run --rm --network none --user "$(id -u):$(id -g)" --volume "$(realpath "$folder"):/secrets" \
      "${SVC_IMAGE:?set SVC_IMAGE to the image of this release}" secrets.js /secrets "$@"
  fi
}

until_true() {
  what=$1
  shift
  attempt=0
  until "$@"; do
    attempt=$((attempt + 1))
    [ "$attempt" -lt "$attempts" ] || { say "gave up waiting until $what. It is safe to repeat the step of docs/operating/rotate.md for $name."; exit 1; }
    sleep "$poll"
  done
}

# What is done, so that a second run continues. To change a login twice would lock out the processes that still use it.
marker=$folder/.rotating
begin() {
  if [ ! -e "$marker" ]; then
    date -u +%Y-%m-%dT%H:%M:%SZ | sed "1i $name" >"$marker"
    return
  fi
  [ "$(sed -n 1p "$marker")" = "$name" ] || { say "first finish: $0 $(sed -n 1p "$marker")"; exit 1; }
  say "continues the change of $name"
  # The last run may have died between a change and its note.
  is_put "$secret" || grep -qx changed "$marker" || echo changed >>"$marker"
}
once() {
  grep -qx "$1" "$marker" && return
  label=$1
  shift
  "$@" || return 1
  echo "$label" >>"$marker"
}
change_once() { once changed change --rotate "$name" || { rm "$marker"; exit 1; }; }

# Puts a Secret into the cluster, or into the store from which External Secrets takes it.
put() {
  if [ -n "${SVC_PUT_SECRET:-}" ]; then
    SVC_SECRETS=$folder "$SVC_PUT_SECRET" "$1"
    kube annotate externalsecret "$1" "force-sync=$(date +%s)" --overwrite
  elif kube get externalsecret "$1" >/dev/null 2>&1; then
    say "External Secrets owns the Secret $1, and would undo the change: set SVC_PUT_SECRET."
    exit 1
  else
    kube create secret generic "$1" "--from-file=$folder/$1" --dry-run=client --output yaml |
      kube apply --server-side --force-conflicts --field-manager rotate --filename -
  fi
  until_true "the Secret $1 has the new values" is_put "$1"
}

is_put() {
  present=$(kube get secret "$1" --output go-template='{{range $key, $value := .data}}{{$key}} {{$value}}{{"\n"}}{{end}}')
  for file in "$folder/$1"/*; do echo "$(basename "$file") $(base64 -w 0 "$file")"; done | {
    ! grep --quiet --invert-match --line-regexp --fixed-strings -e "$present"
  }
}

# A changed annotation makes the kubelet update the files of a pod at once, instead of within some minutes.
refresh() { kube annotate pod --selector "app.kubernetes.io/name=$1" "svc/refreshed=$(date +%s)" --overwrite >/dev/null; }

reload_nats() {
  refresh nats
  servers=$(kube get pod --selector app.kubernetes.io/name=nats --output name) || return 1
  for pod in $servers; do
    kube exec "$pod" --container nats -- nats-server --signal reload=/run/nats/nats.pid || return 1
  done
}

# Records when the cluster got the new values. Containers that started later have already read them.
note_put() {
  grep -q '^put ' "$marker" || date -u '+put %Y-%m-%dT%H:%M:%SZ' >>"$marker"
  put_at=$(sed -n 's/^put //p' "$marker")
}
older_pods() {
  started=$(kube get pod --selector "app.kubernetes.io/name=$1" --output "go-template={{range .items}}{{.metadata.name}}\
{{range .status.containerStatuses}}{{if eq .name \"$2\"}}{{with .state.running}} {{.startedAt}}{{end}}{{end}}{{end}}{{\"\\n\"}}{{end}}") || return 1
  echo "$started" | awk -v at="$put_at" '$2 < at { print $1 }'
}

# A process logs one line when it moves to the new login.
has_moved() {
  pods=$(older_pods "$1" service) || return 1
  for pod in $pods; do
    kube logs "$pod" --container service --since-time "$began" | grep -q "$2: uses the new login" || return 1
  done
}

# On each reload, a server logs a hash of its configuration, which changes when a password changes. Two different hashes mean that it
# has the new file.
nats_has_reloaded() {
  reload_nats || return 1
  pods=$(older_pods nats nats) || return 1
  for pod in $pods; do
    hashes=$(kube logs "$pod" --container nats --since-time "$began" |
      sed -n 's/.*Reloaded server configuration (\(.*\)).*/\1/p' | sort -u | wc -l)
    [ "$hashes" -gt 1 ] || return 1
  done
}

reloaded_and_moved() {
  reload_nats || return 1
  refresh "$1"
  has_moved "$1" nats
}

run_roles() {
  kube delete job --selector "app.kubernetes.io/name=roles-$1" --ignore-not-found
  if [ -n "${SVC_MANIFESTS:-}" ]; then
    kube apply --server-side --filename "$SVC_MANIFESTS" --selector "app.kubernetes.io/name=roles-$1"
  else
    kubectl apply --server-side --kustomize "$overlay" --selector "app.kubernetes.io/name=roles-$1"
  fi
  kube wait --for=condition=complete job --selector "app.kubernetes.io/name=roles-$1" --timeout 5m
}

restart() {
  kube rollout restart deployment "$1"
  kube rollout status deployment "$1" --timeout 10m
}

key_step() {
  once "$1" change --rotate "$name" --step "$1" || exit 1
  once "$1 is used" use_step
}
use_step() {
  put "$secret"
  restart "$secret"
}

case $name in
*/nats-url | */database-url | identity/challenge-key | webhook/webhook-secret-key | postgres/password | nats/route) begin ;;
*) change --rotate "$name" && exit 1 ;; # says what is possible
esac
began=$(sed -n 2p "$marker")
case $name in
admin/nats-url)
  once "old configuration" reload_nats
  change_once
  put nats
  note_put
  until_true "every server of NATS knows the new login" nats_has_reloaded
  put admin
  ;;
*/nats-url)
  change_once
  put nats
  put "$secret"
  note_put
  until_true "every pod of $secret uses the new login of NATS" reloaded_and_moved "$secret"
  ;;
*-owner/database-url)
  change_once
  put "${secret%-owner}-roles"
  put "$secret"
  run_roles "${secret%-owner}"
  ;;
*/database-url)
  change_once
  put "$secret-roles"
  put "$secret"
  note_put
  run_roles "$secret"
  refresh "$secret"
  until_true "every pod of $secret uses the new login of Postgres" has_moved "$secret" postgres
  ;;
identity/challenge-key | webhook/webhook-secret-key)
  key_step add
  key_step use
  say "waiting until nothing needs the old key"
  sleep "${SVC_KEY_SECONDS:-600}"
  key_step drop
  ;;
postgres/password)
  change_once
  printf "alter role postgres password '%s';" "$(cat "$folder/postgres/password")" |
    kube exec --stdin postgres-0 -- psql --username postgres --quiet --set ON_ERROR_STOP=1
  put postgres
  for roles in "$folder"/*-roles; do put "$(basename "$roles")"; done
  ;;
nats/route)
  change_once
  put nats
  kube delete pod --selector app.kubernetes.io/name=nats
  kube rollout status statefulset nats --timeout 10m
  ;;
esac
rm "$marker"
say "$name is changed"
