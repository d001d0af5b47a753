/**
 * The changes that a release may make, so that its processes and those of the previous release can run side by side in any
 * mixture (docs/operating/upgrade.md, Compatibility). Pure; release-record.ts reads the state of a tree.
 */

export interface CallRecord {
  /** JSON schemas. */
  readonly request: unknown
  readonly reply: unknown
  /** The packages that make this call. */
  readonly askedBy: readonly string[]
}

export interface ReleaseRecord {
  /** Calls, by subject. */
  readonly calls: Readonly<Record<string, CallRecord>>
  /** SHA-256 of each numbered file of tables, by `<store>/<file>`. */
  readonly tables: Readonly<Record<string, string>>
  /** SQL functions, by `<store>.<name>`. */
  readonly functions: Readonly<Record<string, FunctionRecord>>
}

/** An SQL function. */
export interface FunctionRecord {
  /** Name, arguments with their names, types and defaults, and the result. */
  readonly signature: string
  readonly revision: number
  /** SHA-256 of the file without its comments. */
  readonly checksum: string
  /** Whether services call it directly, and not only other functions. */
  readonly called: boolean
}

type Schema = Readonly<Record<string, unknown>>

/** Keywords that restrict no values, and `additionalProperties`, which restricts nothing between services. */
const WORDS = new Set(['description', 'title', 'examples', 'additionalProperties'])

/** @returns a sentence for each change that would break the released code. */
export function findBreaks(released: ReleaseRecord, now: ReleaseRecord): string[] {
  return [
    ...findBrokenCalls(released, now),
    ...findBrokenTables(released.tables, now.tables),
    ...findBrokenFunctions(released.functions, now.functions),
  ]
}

function findBrokenCalls(released: ReleaseRecord, now: ReleaseRecord): string[] {
  return Object.entries(released.calls).flatMap(([subject, before]) => {
    const after = now.calls[subject]
    if (after !== undefined)
      return (['request', 'reply'] as const).flatMap((part) => grown(`${subject}, ${part}`, before[part], after[part]))
    if (before.askedBy.length === 0) return []
    return [`${subject} is gone, but the released ${before.askedBy.join(', ')} makes this call`]
  })
}

/** Equal, except that optional members may be added and removed. */
function grown(path: string, before: unknown, after: unknown): string[] {
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return before.flatMap((one, index) => grown(`${path}/${index}`, one, after[index]))
  if (!isSchema(before) || !isSchema(after))
    return Object.is(before, after)
      ? []
      : [`${path} was ${JSON.stringify(before) ?? 'absent'}, and is ${JSON.stringify(after) ?? 'absent'}`]
  const keys = new Set([...Object.keys(before), ...Object.keys(after)])
  return [...keys].flatMap((key) => {
    if (WORDS.has(key) || key === 'required') return []
    if (key === 'properties' && 'properties' in before && 'properties' in after) return members(path, before, after)
    return grown(`${path}/${key}`, before[key], after[key])
  })
}

function members(path: string, before: Schema, after: Schema): string[] {
  const names = (schema: Schema): Schema => (isSchema(schema.properties) ? schema.properties : {})
  const required = (schema: Schema): readonly unknown[] => (Array.isArray(schema.required) ? schema.required : [])
  const all = new Set([...Object.keys(names(before)), ...Object.keys(names(after))])
  return [...all].flatMap((name) => {
    const must = required(before).includes(name)
    if (must !== required(after).includes(name))
      return [`${path}/${name} ${must ? 'was required, and is not any more' : 'is required now'}`]
    const [one, other] = [names(before)[name], names(after)[name]]
    return one === undefined || other === undefined ? [] : grown(`${path}/${name}`, one, other)
  })
}

function isSchema(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function findBrokenTables(released: Readonly<Record<string, string>>, now: Readonly<Record<string, string>>): string[] {
  const changed = Object.keys(released).flatMap((file) => {
    if (now[file] === undefined) return [`${file} is gone, but has already run`]
    return now[file] === released[file] ? [] : [`${file} was changed, but has already run`]
  })
  const last = new Map<string, string>()
  for (const file of Object.keys(released)) {
    const store = storeOf(file)
    if ((last.get(store) ?? '') < file) last.set(store, file)
  }
  // Files run in the order of their names. Migration refuses a file if a later one has already run.
  const overtaken = Object.keys(now)
    .filter((file) => released[file] === undefined && file < (last.get(storeOf(file)) ?? ''))
    .map((file) => `${file} comes before ${last.get(storeOf(file))}, which has already run`)
  return [...changed, ...overtaken]
}

/** Processes of both releases call the same functions, so a function with a new signature needs a new name. */
function findBrokenFunctions(released: ReleaseRecord['functions'], now: ReleaseRecord['functions']): string[] {
  return Object.entries(released).flatMap(([name, before]) => {
    const after = now[name]
    if (after === undefined) return before.called ? [`${name} is gone, but the released services call it`] : []
    if (after.signature !== before.signature)
      return [`${name} has another signature: give the new function a new name. It was ${before.signature}`]
    // The migration step of the released code restores its own version of a function unless the stored revision is higher.
    const changed = after.checksum !== before.checksum
    if (changed && after.revision <= before.revision)
      return [`${name} has changed: its first line must say revision ${before.revision + 1} or a higher one`]
    return after.revision < before.revision ? [`${name} has a lower revision than the released ${before.revision}`] : []
  })
}

function storeOf(file: string): string {
  return file.slice(0, file.indexOf('/'))
}
