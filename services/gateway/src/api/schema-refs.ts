import { KindGuard, type TSchema } from '@sinclair/typebox'
import * as ids from '@svc/contracts/ids.ts'
import { Manifest } from '@svc/contracts/manifest.ts'
import * as resources from '@svc/contracts/resources.ts'
import { bounded } from './bounds.ts'

export type Json = Record<string, unknown>

/** Names of the contracts' schemas. Each named schema becomes a component. */
const NAMED: ReadonlyMap<unknown, string> = new Map(
  Object.entries({ ...resources, ...ids, Manifest })
    .filter(([, value]) => KindGuard.IsSchema(value))
    .map(([name, value]) => [value, name]),
)

/** Turns TypeBox schemas into references to components, and collects the components that are referenced. */
export class SchemaRefs {
  readonly #used = new Map<string, Json>()

  /** @param member the name of the member that has this schema. */
  of(schema: TSchema, member?: string): Json {
    const name = NAMED.get(schema)
    if (name === undefined) return this.#inline(schema, member)
    if (!this.#used.has(name)) {
      this.#used.set(name, {}) // before the parts are read, because a part may refer back to this schema
      this.#used.set(name, this.#inline(schema, name))
    }
    return { $ref: `#/components/schemas/${name}` }
  }

  definitions(): Json {
    return Object.fromEntries([...this.#used].sort(([a], [b]) => (a < b ? -1 : 1)))
  }

  #inline(schema: TSchema, name: string | undefined): Json {
    const literals = literalsOf(schema)
    if (literals !== undefined) return { type: 'string', enum: literals }
    const entries = Object.entries(schema).map(([key, value]) => [key, this.#part(key, value)])
    return bounded(name, Object.fromEntries(entries))
  }

  #part(key: string, value: unknown): unknown {
    if (key === 'properties') {
      const properties = Object.entries(value as Record<string, TSchema>)
      return Object.fromEntries(properties.map(([name, property]) => [name, this.of(property, name)]))
    }
    if (key === 'items') return this.of(value as TSchema)
    if (key === 'anyOf') return (value as TSchema[]).map((option) => this.of(option))
    return value
  }
}

/** The values of a union of string literals, which is an enum in JSON Schema. @returns undefined for any other schema. */
function literalsOf(schema: TSchema): string[] | undefined {
  const options: unknown = schema.anyOf
  if (!Array.isArray(options)) return undefined
  const values = options.map((option: TSchema) => option.const as unknown)
  return values.every((value) => typeof value === 'string') ? values : undefined
}
