/**
 * Checks manifests against the schemas of Kubernetes 1.36 (package kubernetes-models 5.1), the Gateway API, KEDA, the
 * Prometheus operator, Argo CD, Flux, cert-manager and External Secrets. The published schemas accept unknown fields, so
 * there are two checks. Validators made from the OpenAPI description check values, and TypeScript's check of object
 * literals finds fields that do not exist.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Manifest } from './render.ts'

const PACKAGES = [
  'kubernetes-models',
  '@kubernetes-models/argo-cd',
  '@kubernetes-models/cert-manager',
  '@kubernetes-models/external-secrets',
  '@kubernetes-models/flux-cd',
  '@kubernetes-models/gateway-api',
  '@kubernetes-models/keda',
  '@kubernetes-models/prometheus-operator',
]
const MODULES = fileURLToPath(new URL('../../node_modules', import.meta.url))
const TSC = fileURLToPath(new URL('../../../node_modules/typescript/bin/tsc', import.meta.url))
const OPTIONS = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext', '--module', 'nodenext', '--types', '']

/** @returns one sentence for each error. */
export async function findSchemaProblems(manifests: readonly Manifest[]): Promise<string[]> {
  const known = manifests.map((manifest) => ({ manifest, model: modelOf(manifest) }))
  const unknown = known
    .filter(({ model }) => model === undefined)
    .map(({ manifest }) => `${nameOf(manifest)}: no schema`)
  const values = await Promise.all(known.map(({ manifest, model }) => checkValues(manifest, model)))
  return [...unknown, ...values.flat(), ...checkFields(manifests.filter((one) => modelOf(one) !== undefined))]
}

function modelOf({ apiVersion, kind }: Manifest): string | undefined {
  return PACKAGES.map((name) => join(MODULES, name, apiVersion, `${kind}.js`)).find((file) => existsSync(file))
}

type Model = new (data: Manifest) => { validate(): void }

async function checkValues(manifest: Manifest, model: string | undefined): Promise<string[]> {
  if (model === undefined) return []
  const { [manifest.kind]: Kind } = (await import(model)) as Record<string, Model>
  if (Kind === undefined) return [`${nameOf(manifest)}: no schema`]
  try {
    new Kind(manifest).validate()
    return []
  } catch (error) {
    return [`${nameOf(manifest)}: ${error instanceof Error ? error.message : String(error)}`]
  }
}

function checkFields(manifests: readonly Manifest[]): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'manifests-'))
  try {
    // One line for each manifest, so that a line number of the compiler's output identifies the manifest.
    const lines = manifests.map((manifest, index) => {
      const module = JSON.stringify(modelOf(manifest))
      return `export const _${index}: import(${module}).I${manifest.kind} = ${JSON.stringify(manifest)}`
    })
    const file = join(folder, 'manifests.mts')
    writeFileSync(file, lines.join('\n'))
    try {
      execFileSync(process.execPath, [TSC, ...OPTIONS, file], { encoding: 'utf8', cwd: folder })
      return []
    } catch (error) {
      const { stdout = '' } = error as { stdout?: string }
      const found = [...stdout.matchAll(/^manifests\.mts\((\d+),\d+\): error \S+: (.*)$/gm)]
      if (found.length === 0) throw error
      return found.map(([, line, message]) => `${nameOf(manifests[Number(line) - 1])}: ${message}`)
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function nameOf(manifest: Manifest | undefined): string {
  return `${manifest?.kind} ${manifest?.metadata.name}`
}
