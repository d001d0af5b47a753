import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stringify } from 'yaml'
import { fill } from './fill.ts'
import { COMPONENTS, renderMarked, renderOverlay } from './manifests.ts'
import { mergeEntries, type Variants } from './merge.ts'
import { templateText } from './template.ts'
import { defaultValues, overlayValues, schemaOf, valuesText } from './values.ts'

const OWN_TEMPLATES = fileURLToPath(new URL('../templates', import.meta.url))
const PACKAGE = new URL('../../../package.json', import.meta.url)
/** deploy/kubernetes needs it. */
const KUBERNETES_VERSION = '>=1.30.0-0'

/** Writes the chart into a folder that does not exist. */
export function writeChart(folder: string): void {
  const { name, version, description } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as Record<string, string>
  const all = renderMarked()
  const values = defaultValues(all.values(), renderOverlay('production').values())
  mkdirSync(folder)
  writeFileSync(
    join(folder, 'Chart.yaml'),
    stringify({
      apiVersion: 'v2',
      name,
      description,
      type: 'application',
      version,
      appVersion: version,
      kubeVersion: KUBERNETES_VERSION,
    }),
  )
  writeFileSync(join(folder, 'values.yaml'), valuesText(values))
  for (const overlay of ['trial', 'platform']) {
    const text = stringify(overlayValues(overlay, values), { version: '1.1', lineWidth: 0 })
    writeFileSync(
      join(folder, `values-${overlay}.yaml`),
      `# What overlays/${overlay} sets, beyond values.yaml.\n${text}`,
    )
  }
  writeFileSync(join(folder, 'values.schema.json'), `${JSON.stringify(schemaOf(values), null, 2)}\n`)
  cpSync(OWN_TEMPLATES, join(folder, 'templates'), { recursive: true })

  const renders = [['', all] as const, ...COMPONENTS.map((name) => [name, renderMarked(name)] as const)]
  const variants: Variants<Record<string, unknown>> = new Map(
    renders.map(([without, manifests]) => [
      without,
      Object.fromEntries([...manifests].map(([key, manifest]) => [key, fill(manifest)])),
    ]),
  )
  for (const { key, when, value } of mergeEntries(variants)) {
    const text = templateText(value)
    writeFileSync(
      join(folder, 'templates', `${key}.yaml`),
      when === undefined ? text : `{{- if ${when} }}\n${text}{{- end }}\n`,
    )
  }
}
