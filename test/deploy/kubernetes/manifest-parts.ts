/** Parts of rendered manifests, for tests that break them. */
import { type Manifest, nameOf, workloadsOf } from './render.ts'

export type Fields = Record<string, unknown>

export class NotThere extends Error {}

export function find(manifests: Manifest[], kind: string, name: string): Manifest {
  const ofKind = manifests.filter((one) => one.kind === kind)
  const found = ofKind.find(({ metadata }) => metadata.name === name) ?? ofKind.find((one) => nameOf(one) === name)
  if (found === undefined) throw new NotThere(`${kind} ${name}`)
  return found
}

export function remove(manifests: Manifest[], kind: string, name: string): void {
  manifests.splice(manifests.indexOf(find(manifests, kind, name)), 1)
}

export function specOf(manifests: Manifest[], kind: string, name: string): Fields {
  return find(manifests, kind, name).spec as Fields
}

export function podOf(manifests: Manifest[], name: string): Fields {
  const workload = workloadsOf(manifests).find(({ manifest }) =>
    [manifest.metadata.name, nameOf(manifest)].includes(name),
  )
  if (workload === undefined) throw new NotThere(name)
  return workload.template.spec as unknown as Fields
}

export function containerOf(manifests: Manifest[], name: string): Fields {
  return (podOf(manifests, name).containers as Fields[])[0] ?? {}
}

export function variablesOf(manifests: Manifest[], name: string): Fields[] {
  return containerOf(manifests, name).env as Fields[]
}

export function variableOf(manifests: Manifest[], name: string, variable: string): Fields {
  return variablesOf(manifests, name).find((one) => one.name === variable) ?? {}
}

export function settingsOf(manifests: Manifest[]): Fields {
  const settings = manifests.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.startsWith('settings-'))
  if (settings === undefined) throw new NotThere('settings')
  return settings.data as Fields
}

export function secretOf(manifests: Manifest[], name: string): { secretName: string; items: Fields[] } {
  const volumes = podOf(manifests, name).volumes as { name: string; secret: { secretName: string; items: Fields[] } }[]
  const volume = volumes.find((one) => one.name === 'secrets')
  if (volume === undefined) throw new NotThere(name)
  return volume.secret
}
