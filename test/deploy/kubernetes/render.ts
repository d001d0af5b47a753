import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildKustomization } from '@svc/helm/kustomize.ts'
import type { IContainer, IPodTemplateSpec } from 'kubernetes-models/v1'
import { parseAllDocuments } from 'yaml'

/** One object of the cluster, in the form in which it is applied. */
export interface Manifest {
  readonly apiVersion: string
  readonly kind: string
  readonly metadata: {
    name: string
    namespace?: string
    labels?: Record<string, string>
    annotations?: Record<string, string>
  }
  readonly [field: string]: unknown
}

export interface Workload {
  readonly manifest: Manifest
  readonly template: IPodTemplateSpec
  readonly containers: readonly IContainer[]
}

export const KUBERNETES = fileURLToPath(new URL('../../../deploy/kubernetes', import.meta.url))
export const OVERLAYS = ['trial', 'production', 'platform'] as const
export type Overlay = (typeof OVERLAYS)[number]

/**
 * The output of `kustomize build` for a folder.
 * @throws Error with kustomize's message.
 */
export function render(folder: string): Manifest[] {
  return parseAllDocuments(buildKustomization(folder)).map((document) => document.toJS() as Manifest)
}

/**
 * Renders the base with these components.
 * @param more further parts of the kustomization, e.g. its patches.
 */
export function renderWith(components: readonly string[], more = ''): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'kustomize-'))
  try {
    const path = (name: string): string => JSON.stringify(relative(folder, join(KUBERNETES, name)))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      `resources: [${path('base')}]\ncomponents: [${components.map((name) => path(`components/${name}`)).join(', ')}]\n${more}`,
    )
    return render(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

type Edit = (file: string, from: RegExp, to: string) => void

/**
 * Renders a copy of an overlay, which `change` may edit as an operator would.
 * @param change gets the copy's folder, and a function that edits a file in it and throws if there is nothing to replace.
 */
export function renderCopy(overlay: Overlay, change: (folder: string, edit: Edit) => void): Manifest[] {
  const folder = mkdtempSync(join(tmpdir(), 'kubernetes-'))
  try {
    for (const part of ['kubernetes', 'nats', 'observability'])
      cpSync(join(KUBERNETES, '..', part), join(folder, part), { recursive: true })
    const own = join(folder, 'kubernetes/overlays', overlay)
    change(own, (file, from, to) => {
      const text = readFileSync(join(own, file), 'utf8')
      if (text.replaceAll(from, to) === text) throw new Error(`${file} has no ${from}`)
      writeFileSync(join(own, file), text.replaceAll(from, to))
    })
    return render(own)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests.flatMap((manifest) => {
    if (!['Deployment', 'StatefulSet', 'DaemonSet', 'Job', 'CronJob'].includes(manifest.kind)) return []
    const job = manifest.kind === 'CronJob' ? (manifest.spec as { jobTemplate: object }).jobTemplate : manifest
    const { template } = (job as { spec: { template: IPodTemplateSpec } }).spec
    return [
      {
        manifest,
        template,
        containers: [...(template.spec?.initContainers ?? []), ...(template.spec?.containers ?? [])],
      },
    ]
  })
}

/** The name of an object. A Job's name ends with the release, which is left out. */
export function nameOf({ metadata }: Manifest): string {
  return metadata.labels?.['app.kubernetes.io/name'] ?? metadata.name
}

/** The workloads that run a service, by the service's name. */
export function servicesOf(manifests: readonly Manifest[]): Map<string, Workload> {
  const deployments = workloadsOf(manifests).filter(({ manifest }) => manifest.kind === 'Deployment')
  return new Map(deployments.map((workload) => [workload.manifest.metadata.name, workload]))
}

/** The environment of a container: literals, and values of ConfigMaps. A value from a secret is `<secret>`, and from a field `<field>`. */
export function environmentOf(container: IContainer, manifests: readonly Manifest[]): Record<string, string> {
  const maps = new Map(
    manifests
      .filter(({ kind }) => kind === 'ConfigMap')
      .map((one) => [one.metadata.name, one.data as Record<string, string>]),
  )
  return Object.fromEntries(
    (container.env ?? []).map(({ name, value, valueFrom }) => {
      const reference = valueFrom?.configMapKeyRef
      if (reference !== undefined) return [name, maps.get(reference.name ?? '')?.[reference.key] ?? '<missing>']
      if (valueFrom?.secretKeyRef !== undefined) return [name, '<secret>']
      return [name, valueFrom?.fieldRef === undefined ? (value ?? '') : '<field>']
    }),
  )
}
