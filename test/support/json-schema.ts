/** As much of JSON Schema as the OpenAPI description uses; a keyword that is not known here is an error, not a pass. */
export type Schema = Readonly<Record<string, unknown>>

/** Says nothing about the value. */
const ANNOTATIONS = new Set(['description', 'default', 'examples', 'title', '$id', 'format'])

/**
 * @param root the document that `$ref` points into.
 * @returns one sentence for each place where the value does not fit.
 */
export function findMisfits(root: unknown, schema: Schema, value: unknown, path = ''): string[] {
  return Object.entries(schema).flatMap(([keyword, rule]) => {
    if (ANNOTATIONS.has(keyword)) return []
    const check = CHECKS[keyword]
    if (check === undefined) throw new Error(`unknown keyword ${keyword} at ${path}`)
    const found = check({ root, schema, rule, value, path })
    return typeof found === 'boolean' ? (found ? [] : [`${path || '/'}: ${keyword} ${JSON.stringify(rule)}`]) : found
  })
}

/** The schema that a `$ref` of the document means. */
export function resolveRef(root: unknown, ref: unknown): Schema {
  const found = String(ref)
    .replace(/^#\//, '')
    .split('/')
    .reduce<unknown>((place, name) => (place as Record<string, unknown> | undefined)?.[name], root)
  if (typeof found !== 'object' || found === null) throw new Error(`${String(ref)} leads nowhere`)
  return found as Schema
}

interface Place {
  readonly root: unknown
  readonly schema: Schema
  readonly rule: unknown
  readonly value: unknown
  readonly path: string
}

/** Each answers whether the value fits, or what does not. */
const CHECKS: Readonly<Record<string, (place: Place) => boolean | string[]>> = {
  $ref: ({ root, rule, value, path }) => findMisfits(root, resolveRef(root, rule), value, path),
  type: ({ rule, value }) => typesOf(value).includes(String(rule)),
  const: ({ rule, value }) => value === rule,
  enum: ({ rule, value }) => (rule as unknown[]).includes(value),
  pattern: ({ rule, value }) => typeof value !== 'string' || new RegExp(String(rule), 'u').test(value),
  minLength: ({ rule, value }) => typeof value !== 'string' || [...value].length >= Number(rule),
  maxLength: ({ rule, value }) => typeof value !== 'string' || [...value].length <= Number(rule),
  minimum: ({ rule, value }) => typeof value !== 'number' || value >= Number(rule),
  maximum: ({ rule, value }) => typeof value !== 'number' || value <= Number(rule),
  required: ({ rule, value, path }) =>
    (rule as string[])
      .filter((name) => isObject(value) && !Object.hasOwn(value, name))
      .map((name) => `${path}/${name} is missing`),
  properties: ({ root, rule, value, path }) =>
    Object.entries(rule as Record<string, Schema>).flatMap(([name, schema]) =>
      isObject(value) && Object.hasOwn(value, name) ? findMisfits(root, schema, value[name], `${path}/${name}`) : [],
    ),
  additionalProperties: ({ rule, schema, value, path }) => {
    if (rule !== false) throw new Error(`additionalProperties ${JSON.stringify(rule)} at ${path}`)
    const known = Object.keys((schema.properties ?? {}) as object)
    return Object.keys(isObject(value) ? value : {})
      .filter((name) => !known.includes(name))
      .map((name) => `${path}/${name} is not declared`)
  },
  items: ({ root, rule, value, path }) =>
    (Array.isArray(value) ? value : []).flatMap((item, at) => findMisfits(root, rule as Schema, item, `${path}/${at}`)),
  allOf: ({ root, rule, value, path }) =>
    (rule as Schema[]).flatMap((schema) => findMisfits(root, schema, value, path)),
  anyOf: ({ root, rule, value, path }) =>
    (rule as Schema[]).some((schema) => findMisfits(root, schema, value, path).length === 0),
}

function typesOf(value: unknown): string[] {
  if (value === null) return ['null']
  if (Array.isArray(value)) return ['array']
  if (typeof value === 'number') return Number.isInteger(value) ? ['integer', 'number'] : ['number']
  return [typeof value]
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
