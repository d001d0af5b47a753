/**
 * Merges renders into one tree: one render has every component, and each other one leaves one out. An entry that only some renders
 * have gets a condition on the components that decide it.
 */
import type { Fields } from './manifests.ts'
import { control, expression, valueExpression } from './template.ts'

/** Renders, by the component that each leaves out. The key `''` is for the render with every component. */
export type Variants<T> = ReadonlyMap<string, T>

interface Entry {
  readonly key: string
  /** A condition of Helm's template. Without one, the entry is always there. */
  readonly when: string | undefined
  readonly value: unknown
}

/** @throws Error if it takes two components to decide a value. */
export function mergeEntries(variants: Variants<Fields>): Entry[] {
  return keysOf([...variants.values()]).flatMap((key) => {
    const having = [...variants].filter(([, fields]) => key in fields)
    const kinds = Map.groupBy(having, ([, fields]) => kindOf(fields[key]))
    if (kinds.size > 2) throw new Error(`more than one component decides ${key}`)
    return [...kinds.values()].map((group) => ({
      key,
      when: conditionOf(
        group.map(([name]) => name),
        [...variants.keys()],
      ),
      value: merge(new Map(group.map(([name, fields]) => [name, fields[key]]))),
    }))
  })
}

/** Two values can be merged if their kinds are equal: lists, maps, or equal scalars. */
function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list'
  return isFields(value) ? 'map' : JSON.stringify(value)
}

function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null
}

function conditionOf(having: readonly string[], all: readonly string[]): string | undefined {
  if (having.length === all.length) return undefined
  const [decisive, wrap] = having.includes('')
    ? [all.filter((name) => !having.includes(name)), (on: string) => on]
    : [having, (on: string) => `not ${on}`]
  const on = decisive.map((name) => valueExpression(['components', name]))
  return wrap(on.length === 1 ? on.join() : `(and ${on.join(' ')})`)
}

function merge(variants: Variants<unknown>): unknown {
  const [first] = variants.values()
  if (Array.isArray(first)) {
    const items = new Map([...variants].map(([name, list]) => [name, itemsByKey(list as unknown[])]))
    return withConditions(mergeEntries(items)).flatMap(({ before, value, after }) => [...before, value, ...after])
  }
  return isFields(first) ? mapOf(mergeEntries(variants as Variants<Fields>)) : first
}

/** Unconditional entries come first: the first line of a list's item cannot be a condition. */
function mapOf(entries: readonly Entry[]): Fields {
  const merged: Fields = {}
  const sorted = entries.toSorted((one, other) => Number(one.when !== undefined) - Number(other.when !== undefined))
  const add = (lines: readonly string[]): void => {
    for (const line of lines) merged[`${line}-${Object.keys(merged).length}`] = null
  }
  for (const { before, key, value, after } of withConditions(sorted)) {
    add(before)
    merged[key in merged ? expression(key) : key] = value
    add(after)
  }
  return merged
}

/** With the lines of the template before and after each run of entries that have one condition. */
function withConditions(entries: readonly Entry[]): (Entry & { before: string[]; after: string[] })[] {
  return entries.map((entry, index) => {
    const isInside = (neighbour?: Entry): boolean => entry.when === undefined || neighbour?.when === entry.when
    return {
      ...entry,
      before: isInside(entries[index - 1]) ? [] : [control(`{{- if ${entry.when} }}`)],
      after: isInside(entries[index + 1]) ? [] : [control('{{- end }}')],
    }
  })
}

/** Items that have names match by name, and other items if they are equal. Items with the same key are numbered. */
function itemsByKey(list: readonly unknown[]): Fields {
  const items: Fields = {}
  for (const item of list) {
    const name = isFields(item) && typeof item.name === 'string' ? item.name : JSON.stringify(item)
    let count = 0
    while (`${name}#${count}` in items) count++
    items[`${name}#${count}`] = item
  }
  return items
}

/** All keys. One that the first variant lacks follows its predecessor. */
function keysOf(variants: readonly Fields[]): string[] {
  const keys: string[] = []
  for (const variant of variants) {
    let after = -1
    for (const key of Object.keys(variant)) {
      const found = keys.indexOf(key)
      if (found === -1) keys.splice(++after, 0, key)
      else after = found
    }
  }
  return keys
}
