/** The places in manifests that the chart's values decide. */
import type { Fields, Manifest } from './manifests.ts'

type Path = readonly (string | number)[]

interface Hole {
  readonly path: Path
  /** The path in `.Values`. */
  readonly value: readonly string[]
  /** The function of the template that writes it. */
  readonly write: 'quote' | 'int' | 'toJson'
}

interface Container {
  readonly image: string
}

/** Settings that have the value of a variable of `place.env`. */
const OF_PLACE: Readonly<Record<string, string>> = { SVC_AUTHORITY: 'HOST', SVC_TRUSTED_PROXIES: 'TRUSTED_PROXIES' }

export function holesOf(manifest: Manifest): Hole[] {
  const { kind, metadata } = manifest
  if (kind === 'ConfigMap' && metadata.name === 'settings') return holesOfSettings(manifest)
  if (kind === 'HorizontalPodAutoscaler') return holesOfScaling(metadata.name, ['minReplicas', 'maxReplicas'])
  if (kind === 'ScaledObject') return holesOfScaling(metadata.name, ['minReplicaCount', 'maxReplicaCount'])
  const pod = podPath(manifest)
  if (pod === undefined) return []
  const holes = (get(manifest, [...pod, 'containers']) as Container[]).map(
    ({ image }, index): Hole => ({
      path: [...pod, 'containers', index, 'image'],
      value: ['images', image.split('/').at(-1)?.split(/[:@]/)[0] ?? ''],
      write: 'quote',
    }),
  )
  if (kind === 'Deployment') holes.push(holeOfResources(manifest, ['services', metadata.name]))
  if (kind === 'StatefulSet' && metadata.name === 'nats') {
    const storage = ['spec', 'volumeClaimTemplates', 0, 'spec', 'resources', 'requests', 'storage']
    holes.push(
      { path: ['spec', 'replicas'], value: ['nats', 'replicas'], write: 'int' },
      { path: storage, value: ['nats', 'storage'], write: 'quote' },
      holeOfResources(manifest, ['nats']),
    )
  }
  return holes
}

function holesOfSettings({ data }: Manifest): Hole[] {
  return Object.keys(data as Fields).map((name) => {
    const ofPlace = OF_PLACE[name]
    return {
      path: ['data', name],
      value: ofPlace === undefined ? ['settings', name] : ['place', ofPlace],
      write: 'quote',
    }
  })
}

function holesOfScaling(service: string, fields: readonly [string, string]): Hole[] {
  return ['minReplicas', 'maxReplicas'].map((name, index) => ({
    path: ['spec', fields[index] ?? ''],
    value: ['services', service, name],
    write: 'int',
  }))
}

function holeOfResources(manifest: Manifest, value: readonly string[]): Hole {
  const path = [...(podPath(manifest) ?? []), 'containers', 0, 'resources']
  return { path, value: [...value, 'resources'], write: 'toJson' }
}

/** Where the pod's spec is, if the manifest has pods. */
export function podPath({ kind }: Manifest): Path | undefined {
  if (kind === 'CronJob') return ['spec', 'jobTemplate', 'spec', 'template', 'spec']
  return ['Deployment', 'StatefulSet', 'Job'].includes(kind) ? ['spec', 'template', 'spec'] : undefined
}

/** The values with which the chart renders these manifests. */
export function valuesOf(manifests: Iterable<Manifest>): Fields {
  const values: Fields = {}
  for (const manifest of manifests)
    for (const { path, value } of holesOf(manifest)) set(values, value, get(manifest, path))
  return values
}

export function get(from: Fields, path: Path): unknown {
  return path.reduce<unknown>((at, step) => (at as Fields | undefined)?.[step], from)
}

export function set(into: Fields, path: Path, value: unknown): void {
  const [step = '', ...rest] = path
  if (rest.length === 0) into[step] = value
  else {
    into[step] ??= {}
    set(into[step] as Fields, rest, value)
  }
}
