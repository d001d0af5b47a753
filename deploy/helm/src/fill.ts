/** Puts expressions of templates into a manifest, in place of what the values decide. */
import { get, holesOf, podPath, set } from './holes.ts'
import { type Fields, type Manifest, NAMESPACE_MARK, PLACE_MARK, portOf } from './manifests.ts'
import { control, expression, valueExpression } from './template.ts'

/** ConfigMaps that processes read when they start. */
const READ_AT_START = ['settings', 'nats-config']

export function fill(rendered: Manifest): Manifest {
  const manifest = structuredClone(rendered)
  for (const { path, value, write } of holesOf(manifest)) {
    set(manifest, path, expression(`{{ ${valueExpression(value)} | ${write} }}`))
  }
  fillByKind(manifest)
  return fillPlace(manifest) as Manifest
}

function fillByKind(manifest: Manifest): void {
  const { kind, metadata } = manifest
  if (kind === 'Job') metadata.name += `-${expression('{{ include "svc.release" . }}')}`
  if (kind === 'ServiceAccount') {
    const [begin, end] = [control('{{- if .Values.imagePullSecrets }}'), control('{{- end }}')]
    const secrets = expression('{{ .Values.imagePullSecrets | toJson }}')
    Object.assign(manifest, { [begin]: null, imagePullSecrets: secrets, [end]: null })
  }
  if (kind === 'Deployment' || kind === 'StatefulSet') addChecksums(manifest)
  if (kind === 'StatefulSet' && metadata.name === 'nats') {
    const config = ['spec', 'template', 'spec', 'containers', 0, 'args', 1]
    const name = expression('{{ ternary "single" "cluster" (eq (int .Values.nats.replicas) 1) }}')
    set(manifest, config, String(get(manifest, config)).replace('cluster', name))
  }
  if (kind === 'ConfigMap' && metadata.name === 'nats-config') {
    const data = manifest.data as Fields
    const own = data['users.conf']
    delete data['users.conf']
    Object.assign(data, {
      [control('{{- if .Values.nats.users }}')]: null,
      [expression('users.conf')]: expression('{{ .Values.nats.users | toJson }}'),
      [control('{{- else }}')]: null,
      'users.conf': own,
      [control('{{- end }}')]: null,
    })
  }
}

/** A change of a ConfigMap restarts the pods that read it. */
function addChecksums(manifest: Manifest): void {
  const text = JSON.stringify(get(manifest, podPath(manifest) ?? []))
  for (const name of READ_AT_START.filter((one) => text.includes(`"name":"${one}"`))) {
    const sum = expression(`{{ include (print $.Template.BasePath "/configmap-${name}.yaml") . | sha256sum }}`)
    set(manifest, ['spec', 'template', 'metadata', 'annotations', `checksum/${name}`], sum)
  }
}

function fillPlace(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(fillPlace)
  if (typeof node === 'object' && node !== null) {
    return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, fillPlace(value)]))
  }
  if (typeof node === 'string') return fillText(node)
  const port = typeof node === 'number' ? portOf(node) : undefined
  return port === undefined ? node : expression(`{{ .Values.place.${port} | int }}`)
}

function fillText(text: string): string {
  const isWhole = text.replace(PLACE_MARK, '').replace(NAMESPACE_MARK, '') === ''
  const write = isWhole ? ' | quote' : ''
  return text
    .replace(PLACE_MARK, (_, name: string) => expression(`{{ .Values.place.${name}${write} }}`))
    .replaceAll(NAMESPACE_MARK, expression(`{{ .Release.Namespace${write} }}`))
}
