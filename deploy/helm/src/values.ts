/** The chart's values.yaml and values.schema.json. */
import { isDeepStrictEqual } from 'node:util'
import { stringify } from 'yaml'
import { set, valuesOf } from './holes.ts'
import {
  COMPONENTS,
  componentsOf,
  type Fields,
  isPort,
  type Manifest,
  PLACE,
  PLACE_LINES,
  renderOverlay,
} from './manifests.ts'

const HEAD = `# The values of overlays/production are the defaults. docs/operating/deploy.md says what each component needs and adds.
# values.schema.json has the form of every value.`

const COMMENTS: Readonly<Record<string, string>> = {
  images: '# The services run images.svc, which you build. Name images by digest (registry.example.org/svc@sha256:…).',
  imagePullSecrets: '# The form is that of Kubernetes, e.g. [{ name: registry }].',
  components:
    '# Exactly one of nats and external-nats, and exactly one of postgres and external-postgres. `spread` has the\n# patches of overlays/production, which require that pods are spread. docs/operating/deploy.md has the list.',
  settings: '# docs/operating/configure.md says what each setting does. All are texts: put numbers between quotes.',
  nats: '# Of the component nats. `users` replaces users.conf: an upgrade may need the users of the last release for a while\n# (docs/operating/upgrade.md). `storage` cannot be changed after the installation.',
}

/** @param all the base with all components. @param production the overlay. */
export function defaultValues(all: Iterable<Manifest>, production: Iterable<Manifest>): Fields {
  const [most, own] = [valuesOf(all), valuesOf(production)]
  const place = Object.entries(PLACE).map(([name, value]) => [name, isPort(name) ? Number(value) : value])
  return {
    images: { ...(most.images as Fields), svc: '' },
    imagePullSecrets: [],
    place: { ...Object.fromEntries(place), HOST: '', TRUSTED_PROXIES: '' },
    components: switches(componentsOf('production')),
    settings: { ...(most.settings as Fields), ...(own.settings as Fields) },
    services: own.services,
    nats: { ...(own.nats as Fields), users: '' },
  }
}

export function switches(on: readonly string[]): Record<string, boolean> {
  return Object.fromEntries(COMPONENTS.toSorted().map((name) => [name, on.includes(name)]))
}

/** The values that make the chart deploy the objects of an overlay. Leaves out defaults, and values that the user must set. */
export function overlayValues(overlay: string, defaults: Fields): Fields {
  const { images, place, ...others } = valuesOf(renderOverlay(overlay).values()) as Record<string, Fields>
  const isSet = ([name, value]: [string, unknown]): boolean =>
    value !== PLACE[name] && !/@sha256:0{64}$/.test(String(value))
  const [ownImages, ownPlace] = [images, place].map((all) =>
    Object.fromEntries(Object.entries(all ?? {}).filter(isSet)),
  )
  return difference(
    { ...others, images: ownImages, place: ownPlace, components: switches(componentsOf(overlay)) },
    defaults,
  )
}

function difference(values: Fields, from: Fields): Fields {
  return Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => {
      const other = from[key]
      const own = isMap(value) && isMap(other) ? difference(value, other) : value
      return isDeepStrictEqual(value, other) || isDeepStrictEqual(own, {}) ? [] : [[key, own]]
    }),
  )
}

function isMap(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function valuesText(values: Fields): string {
  const sections = Object.entries(values).map(([name, value]) => {
    const comment = COMMENTS[name] === undefined ? '' : `${COMMENTS[name]}\n`
    return (
      comment +
      (name === 'place' ? placeText(value as Fields) : stringify({ [name]: value }, { version: '1.1', lineWidth: 0 }))
    )
  })
  return [HEAD, ...sections].join('\n\n').replaceAll(/\n{3,}/g, '\n\n')
}

/** With the comments of `place.env`. */
function placeText(place: Fields): string {
  const lines = PLACE_LINES.map((line) => {
    const [name] = /^[A-Z_0-9]+(?==)/.exec(line) ?? []
    return name === undefined ? line : `${name}: ${JSON.stringify(place[name])}`
  })
  return `place:\n${lines.join('\n')}`.replaceAll(/\n(?=.)/g, '\n  ')
}

const ADDRESS = '[0-9a-fA-F.:]+(/[0-9]{1,3})?'
const HOST = '([a-z0-9.-]+|\\[[0-9a-f:]+\\])(:[0-9]{1,5})?'
const NAME = '[a-z0-9]([a-z0-9.-]*[a-z0-9])?'

/** Schemas of values that the type of the default does not describe well enough. The first pattern that matches the path decides. */
const RULES: readonly (readonly [RegExp, Fields])[] = [
  [/^images\.svc$/, { type: 'string', pattern: '^$|^[^@ ]+(:[^/@ ]+|@sha256:[0-9a-f]{64})$' }],
  [/^images\./, { type: 'string', pattern: '^[^@ ]+(:[^/@ ]+|@sha256:[0-9a-f]{64})$' }],
  [
    /^imagePullSecrets$/,
    {
      type: 'array',
      items: {
        type: 'object',
        required: ['name'],
        properties: { name: { type: 'string' } },
        additionalProperties: false,
      },
    },
  ],
  [/^place\.HOST$/, { type: 'string', pattern: `^$|^${HOST}$` }],
  [/^place\.TRUSTED_PROXIES$/, { type: 'string', pattern: `^$|^none$|^${ADDRESS}( *, *${ADDRESS})*$` }],
  [/^place\..*_CIDR/, { type: 'string', pattern: '^[0-9a-fA-F.:]+/[0-9]{1,3}$' }],
  [/_PORT$/, { type: 'integer', minimum: 1, maximum: 65_535 }],
  [/^place\.PROMETHEUS$/, { type: 'string', pattern: '^https?://' }],
  [/^place\./, { type: 'string', pattern: `^${NAME}$` }],
  [/Replicas$/, { type: 'integer', minimum: 1 }],
  [/\.resources$/, { type: 'object' }],
  [/^nats\.replicas$/, { enum: [1, 3] }],
]

/** Refuses unknown names, so that a misspelt one is not ignored. */
export function schemaOf(values: Fields): Fields {
  const schema = schemaAt(values, '')
  set(schema, ['properties', 'global'], { type: 'object' }) // Helm adds it to a chart that another one contains
  return { $schema: 'http://json-schema.org/draft-07/schema#', ...schema }
}

function schemaAt(value: unknown, path: string): Fields {
  const rule = RULES.find(([pattern]) => pattern.test(path))
  if (rule !== undefined) return rule[1]
  if (typeof value !== 'object' || value === null) return { type: typeof value }
  const properties = Object.entries(value).map(([name, one]) => [
    name,
    schemaAt(one, path === '' ? name : `${path}.${name}`),
  ])
  return { type: 'object', properties: Object.fromEntries(properties), additionalProperties: false }
}
