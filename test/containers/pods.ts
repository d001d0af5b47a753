/** Does what a kubelet does before the containers of a pod start: fills in their environment, and makes their volumes. */
import { chmodSync, chownSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { IContainer, IPodSecurityContext, IVolume } from 'kubernetes-models/v1'
import type { Manifest, Workload } from '../deploy/kubernetes/render.ts'

interface PodPlace {
  readonly name: string
  readonly address: string
  readonly manifests: readonly Manifest[]
  /** The folder of secrets.js: `<secret>/<key>`. */
  readonly secrets: string
  /** Gets the volumes. */
  readonly folder: string
  /** The security context that a platform adds to a pod without a user. */
  readonly assigned?: IPodSecurityContext
}

type Files = Readonly<Record<string, string>>

/** The sidecar of NATS, because no image of it can be built here. */
const LEFT_OUT = 'prometheus-nats-exporter'

/** The pod in the form that `podman kube play` reads. Probes and `preStop` are left to the caller. */
export function podOf(workload: Workload, place: PodPlace): object {
  const { metadata, spec } = workload.template
  if (spec === undefined) throw new Error(`${place.name} has no pod`)
  const security = { ...place.assigned, ...spec.securityContext }
  const group = security.fsGroup ?? 0
  const volumes = [...(spec.volumes ?? []), ...claimsOf(workload.manifest)]
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: place.name, labels: metadata?.labels },
    spec: {
      restartPolicy: spec.restartPolicy ?? 'Always',
      securityContext: { ...security, supplementalGroups: [group] },
      containers: spec.containers
        .filter(({ image }) => image?.includes(LEFT_OUT) !== true)
        .map(({ name, image, args, resources, securityContext, volumeMounts, env }) => ({
          ...{ name, image, args, resources, securityContext, volumeMounts },
          env: environmentOf(env ?? [], place),
        })),
      volumes: volumes.map((volume) => ({
        name: volume.name,
        hostPath: { path: makeVolume(volume, group, place), type: 'Directory' },
      })),
    },
  }
}

function claimsOf({ spec }: Manifest): IVolume[] {
  const { volumeClaimTemplates = [] } = spec as { volumeClaimTemplates?: { metadata: { name: string } }[] }
  return volumeClaimTemplates.map(({ metadata }) => ({ name: metadata.name }))
}

function environmentOf(env: NonNullable<IContainer['env']>, place: PodPlace): { name: string; value: string }[] {
  const known = new Map<string, string>()
  for (const { name, value = '', valueFrom } of env) {
    const { configMapKeyRef, secretKeyRef, fieldRef } = valueFrom ?? {}
    const found =
      configMapKeyRef !== undefined
        ? configMap(configMapKeyRef.name, place)[configMapKeyRef.key]
        : secretKeyRef !== undefined
          ? secret(secretKeyRef.name, place)[secretKeyRef.key]
          : fieldRef !== undefined
            ? { 'metadata.name': place.name, 'status.podIP': place.address }[fieldRef.fieldPath]
            : value.replaceAll(/\$\((\w+)\)/g, (whole, one: string) => known.get(one) ?? whole)
    if (found === undefined) throw new Error(`${place.name} has no value for ${name}`)
    known.set(name, found)
  }
  return [...known].map(([name, value]) => ({ name, value }))
}

/** Files belong to root, and are readable for the pod's group. Other volumes are writable for it. */
function makeVolume(volume: IVolume, group: number, place: PodPlace): string {
  const folder = join(place.folder, place.name, volume.name)
  mkdirSync(folder, { recursive: true })
  const { secret: ofSecret, configMap: ofMap } = volume
  if (ofSecret === undefined && ofMap === undefined) {
    chownSync(folder, 0, group)
    chmodSync(folder, 0o2775)
    return folder
  }
  const files = ofSecret === undefined ? configMap(ofMap?.name, place) : secret(ofSecret.secretName, place)
  const source = ofSecret ?? ofMap
  const items = source?.items ?? Object.keys(files).map((key) => ({ key, path: key }))
  for (const { key, path } of items) {
    const text = files[key]
    if (text === undefined) throw new Error(`${place.name} has no ${key} for its volume ${volume.name}`)
    const file = join(folder, path)
    writeFileSync(file, text)
    chownSync(file, 0, group)
    chmodSync(file, source?.defaultMode ?? 0o644)
  }
  chmodSync(folder, 0o755)
  return folder
}

function configMap(name: string | undefined, { manifests }: PodPlace): Files {
  const found = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === name)
  return (found?.data ?? {}) as Files
}

function secret(name: string | undefined, { secrets }: PodPlace): Files {
  const folder = join(secrets, name ?? '')
  return Object.fromEntries(readdirSync(folder).map((key) => [key, readFileSync(join(folder, key), 'utf8')]))
}
