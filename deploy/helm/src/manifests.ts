/** Renders deploy/kubernetes for the chart: the base with components, and marks where the place is filled in. */
import {
  copyFileSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parse, parseAllDocuments, stringify } from 'yaml'
import { buildKustomization } from './kustomize.ts'

export type Fields = Record<string, unknown>

export interface Manifest extends Fields {
  readonly kind: string
  readonly metadata: { name: string; namespace?: string }
}

const KUBERNETES = fileURLToPath(new URL('../../kubernetes', import.meta.url))
const PRODUCTION = join(KUBERNETES, 'overlays/production')
/** Components that the chart leaves out. `argo-cd` adds hooks of Argo CD. The chart's values replace `place`. */
const LEFT_OUT = ['argo-cd', 'place']
/** The patches of overlays/production are a component too. */
const SPREAD = 'spread'
/** A component that changes another one cannot be rendered without it. */
const NEEDS: Readonly<Record<string, string>> = { 'nats-tls': 'nats' }
/** Kustomize ends the names of ConfigMaps with a hash of their content, in these characters. */
const HASH = /-[2456789bcdfghkmt]{10}$/

/** Marks a variable of `place.env` in a rendered manifest. Kustomize takes only a number for a port. */
export const PLACE_MARK = /PLACE-([A-Z_0-9]+)-MARK/g
const FIRST_PORT_MARK = 900_000_000
export const NAMESPACE_MARK = 'namespace-mark'
/** The lines of production's place.env, with their comments. */
export const PLACE_LINES = readFileSync(join(PRODUCTION, 'place/place.env'), 'utf8').trim().split('\n')
export const PLACE: Readonly<Record<string, string>> = Object.fromEntries(
  PLACE_LINES.flatMap((line) => [...line.matchAll(/^([A-Z_0-9]+)=(.*)$/g)].map(([, name, value]) => [name, value])),
)
/** First those that only add objects, last those that only change the objects of others. */
export const COMPONENTS = [
  ...readdirSync(join(KUBERNETES, 'components'))
    .filter((name) => !LEFT_OUT.includes(name))
    .toSorted((one, other) => rankOf(one) - rankOf(other)),
  SPREAD,
]

function rankOf(component: string): number {
  const kustomization = readKustomization(`components/${component}`)
  return Number('patches' in kustomization) + Number(!('resources' in kustomization))
}

/** The components of an overlay, without those that the chart leaves out. */
export function componentsOf(overlay: string): string[] {
  const { components } = readKustomization(`overlays/${overlay}`) as { components: string[] }
  const names = components.map((path) => path.split('/').at(-1) ?? '').filter((name) => !LEFT_OUT.includes(name))
  const shared = patchesOf('production').map(({ path }) => path)
  return patchesOf(overlay).some(({ path }) => path !== undefined && shared.includes(path)) ? [...names, SPREAD] : names
}

/** The patches of an overlay, except the one that removes the ConfigMap `place`. */
function patchesOf(overlay: string): { path?: string }[] {
  const { patches } = readKustomization(`overlays/${overlay}`) as { patches: { path?: string; target?: object }[] }
  return patches.filter(({ target }) => target !== undefined)
}

function readKustomization(folder: string): Fields {
  return parse(readFileSync(join(KUBERNETES, folder, 'kustomization.yaml'), 'utf8')) as Fields
}

/** An overlay, by kind and name. */
export function renderOverlay(overlay: string): Map<string, Manifest> {
  return parseManifests(buildKustomization(join(KUBERNETES, 'overlays', overlay)))
}

/** The base with these components, by kind and name. @param place the variables of `place.env`. */
export function renderComponents(
  components: readonly string[],
  namespace: string,
  place: Readonly<Fields>,
): Map<string, Manifest> {
  const folder = mkdtempSync(join(tmpdir(), 'chart-'))
  try {
    const path = (name: string): string => relative(folder, join(KUBERNETES, name))
    const literals = Object.entries(place).map(([name, value]) => `${name}=${value}`)
    const options = { disableNameSuffixHash: true }
    mkdirSync(join(folder, 'place'))
    writeFileSync(
      join(folder, 'place/kustomization.yaml'),
      stringify({ configMapGenerator: [{ name: 'place', literals, options }] }),
    )
    for (const file of globSync('*.yaml', { cwd: PRODUCTION })) copyFileSync(join(PRODUCTION, file), join(folder, file))
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      stringify({
        namespace,
        resources: [path('base'), 'place'],
        components: [...components.filter((name) => name !== SPREAD), 'place'].map((name) =>
          path(`components/${name}`),
        ),
        patches: components.includes(SPREAD) ? patchesOf('production') : [],
        replacements: [{ path: 'namespace-of-metrics.yaml' }],
      }),
    )
    return parseManifests(buildKustomization(folder))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** All components, without this one and those that need it. Marks stand for the namespace and the variables of `place.env`. */
export function renderMarked(without?: string): Map<string, Manifest> {
  const components = COMPONENTS.filter((name) => without === undefined || (name !== without && NEEDS[name] !== without))
  const place = Object.keys(PLACE).map((name, index) => [
    name,
    isPort(name) ? FIRST_PORT_MARK + index : `PLACE-${name}-MARK`,
  ])
  return renderComponents(components, NAMESPACE_MARK, Object.fromEntries(place))
}

export function isPort(name: string): boolean {
  return name.endsWith('_PORT')
}

/** The variable that a number marks. */
export function portOf(mark: number): string | undefined {
  return Object.keys(PLACE)[mark - FIRST_PORT_MARK]
}

/** Names of ConfigMaps lose their hashes: in the chart, an annotation of the pods has a checksum. */
export function parseManifests(text: string): Map<string, Manifest> {
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  const rendered = parseAllDocuments(text, { version: '1.1' }).map((document) => document.toJS() as Manifest)
  const hashed = rendered.flatMap(({ kind, metadata: { name } }) =>
    kind === 'ConfigMap' && HASH.test(name) ? [name] : [],
  )
  const plain = hashed.reduce(
    (renamed, name) => renamed.replaceAll(name, name.replace(HASH, '')),
    JSON.stringify(rendered),
  )
  return new Map(
    (JSON.parse(plain) as Manifest[])
      .filter(({ kind, metadata }) => !(kind === 'Namespace' || (kind === 'ConfigMap' && metadata.name === 'place')))
      .map((one) => [`${one.kind}-${one.metadata.name}`.toLowerCase(), one]),
  )
}
