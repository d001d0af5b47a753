/** Parts of rendered manifests. */
import { type Manifest, nameOf, workloadsOf } from './render.ts'

type Fields = Record<string, unknown>

export function find(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const ofKind = manifests.filter((one) => one.kind === kind)
  const found = ofKind.find(({ metadata }) => metadata.name === name) ?? ofKind.find((one) => nameOf(one) === name)
  if (found === undefined) throw new Error(`there is no ${kind} ${name}`)
  return found
}

export function specOf(manifests: readonly Manifest[], kind: string, name: string): Fields {
  return find(manifests, kind, name).spec as Fields
}

/** The first container of the workload with this name. */
export function containerOf(manifests: readonly Manifest[], name: string): Fields {
  const workload = workloadsOf(manifests).find(({ manifest }) =>
    [manifest.metadata.name, nameOf(manifest)].includes(name),
  )
  const [container] = (workload?.template.spec as { containers?: Fields[] } | undefined)?.containers ?? []
  if (container === undefined) throw new Error(`there is no workload ${name}`)
  return container
}
