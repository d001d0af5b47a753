/** Reads the case files. A wrong case file is refused as a whole, with the place and the reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { parse } from 'yaml'
import type { Agent } from '../http/agent.ts'
import { findFolder } from '../report/rules.ts'
import { type Case, NEEDS, type Need, type World } from './case.ts'
import { runSteps, type Step } from './steps.ts'
import { evaluate } from './value.ts'

type Row = Readonly<Record<string, unknown>>

interface CaseFile {
  readonly about: string
  readonly spec?: readonly string[]
  readonly needs?: readonly Need[]
  /** Registered once, and shared by the cases of the file. */
  readonly agents?: readonly string[]
  /** Keys that nobody registered, shared as the agents are. */
  readonly strangers?: readonly string[]
  /** Runs once, before the first case that needs it. */
  readonly setup?: readonly Step[]
  /** Lists that several cases use in `each` and `each_pair`. */
  readonly rows?: Readonly<Record<string, readonly Row[]>>
  readonly cases: readonly CaseText[]
}

interface CaseText {
  readonly name: string
  readonly spec?: readonly string[]
  readonly needs?: readonly Need[]
  /** Registered for this case alone. */
  readonly agents?: readonly string[]
  /** Keys that nobody registered. */
  readonly strangers?: readonly string[]
  /** The case runs once for each row. The members of a row are known to its steps by their names. */
  readonly each?: readonly (Row | string)[]
  /** The rows, from a list of a file in docs/vectors: `agent-ids.json refused_public_keys`, `texts.json kinds.name.valid`. */
  readonly each_from?: string
  /** Pairs of rows of this list that change different members. The first one wins. */
  readonly each_pair?: string
  readonly steps: readonly Step[]
}

const FILE_KEYS = ['about', 'spec', 'needs', 'agents', 'strangers', 'setup', 'rows', 'cases']
const CASE_KEYS = ['name', 'spec', 'needs', 'agents', 'strangers', 'each', 'each_from', 'each_pair', 'steps']
const STEP_KEYS = [
  ...['as', 'do', 'send', 'make', 'body', 'text', 'headers', 'sign', 'gateway', 'expect', 'keep', 'eventually'],
  ...['pages', 'at_once', 'outcomes', 'all', 'spent', 'solve', 'operate', 'set', 'check', 'wait', 'raw'],
  ...['open', 'close', 'deliveries', 'answer', 'with'],
]

/** @param folder with `<group>/<file>.yaml`. @throws Error for a file that is no case file. */
export function loadCases(folder: string): Case[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'))
  return files.sort().flatMap((file) => {
    const path = join(folder, file)
    const id = relative(folder, path)
      .replace(/\.yaml$/, '')
      .replaceAll(sep, '/')
    try {
      return casesOf(id, parse(readFileSync(path, 'utf8')) as CaseFile)
    } catch (error) {
      throw new Error(`${path}: ${(error as Error).message}`, { cause: error })
    }
  })
}

/** The shared agents of a file, for each server. */
type Shared = WeakMap<World['server'], Promise<Record<string, unknown>>>

interface Place {
  readonly fileId: string
  readonly file: CaseFile
  readonly shared: Shared
}

function casesOf(fileId: string, file: CaseFile): Case[] {
  refuseOthers(file, FILE_KEYS, 'the file')
  for (const step of file.setup ?? []) checkStep(step, 'the setup')
  const shared: Shared = new WeakMap()
  const cases = file.cases.flatMap((text) => {
    refuseOthers(text, CASE_KEYS, `"${text.name}"`)
    for (const step of text.steps) checkStep(step, `"${text.name}"`)
    const rows = rowsOf(text, file)
    const names = rows.map((row, at) => String(row.name ?? row.about ?? at + 1))
    return rows.map((row, at) => {
      const isUnique = names.filter((name) => slug(name) === slug(names[at] ?? '')).length === 1
      const ending = isUnique ? slug(names[at] ?? '') : `${slug(names[at] ?? '')}-${at + 1}`
      return caseOf(
        { fileId, file, shared },
        text,
        row,
        rows.length > 1 ? { name: names[at] ?? '', ending } : undefined,
      )
    })
  })
  const ids = cases.map(({ id }) => id)
  const twice = ids.find((id, at) => ids.indexOf(id) !== at)
  if (twice !== undefined) throw new Error(`two cases are called ${twice}`)
  return cases
}

function caseOf(
  { fileId, file, shared }: Place,
  text: CaseText,
  row: Readonly<Record<string, unknown>>,
  told: { name: string; ending: string } | undefined,
): Case {
  const spec = text.spec ?? file.spec ?? []
  const needs = [...new Set([...(file.needs ?? []), ...(text.needs ?? [])])]
  const unknown = needs.find((need) => !(need in NEEDS))
  if (spec.length === 0 || unknown !== undefined)
    throw new Error(`"${text.name}" ${unknown ? `needs ${unknown}` : 'names no section'}`)
  return {
    id: `${fileId}/${slug(text.name)}${told === undefined ? '' : `-${told.ending}`}`,
    title: `${file.about}: ${text.name}${told === undefined ? '' : ` (${told.name})`}`,
    spec,
    needs,
    agents: text.agents?.length ?? 0,
    async run(world) {
      const common = await sharedOf(file, shared, world)
      const scope: Record<string, unknown> = { ...common, anonymous: world.anonymous }
      for (const name of text.strangers ?? []) scope[name] = world.stranger()
      await Promise.all((text.agents ?? []).map(async (name) => (scope[name] = await world.agent())))
      for (const [name, given] of Object.entries(row)) defineLate(scope, name, () => evaluate(given, scope))
      await runSteps(text.steps, scope, world)
    },
  }
}

function rowsOf({ name, each, each_from, each_pair }: CaseText, { rows = {} }: CaseFile): readonly Row[] {
  const listOf = (list: string): readonly Row[] => {
    const found = rows[list]
    if (found === undefined) throw new Error(`"${name}" uses the rows ${list}, which the file does not have`)
    return found
  }
  if (each_from !== undefined) return vectorsOf(each_from)
  if (each_pair !== undefined) return pairsOf(listOf(each_pair))
  return each?.flatMap((one) => (typeof one === 'string' ? listOf(one) : [one])) ?? [{}]
}

/** In the package the vectors stand beside `dist`, in a clone under docs. `kinds.name.valid` finds the kind called name. */
export function vectorsOf(place: string): Row[] {
  const [file = '', ...list] = place.split(' ')
  const all: unknown = JSON.parse(readFileSync(findFolder('vectors') + file, 'utf8'))
  const rows = list
    .join(' ')
    .split('.')
    .reduce(
      (found: unknown, part) =>
        Array.isArray(found) ? found.find(({ kind }) => kind === part) : (found as Row | undefined)?.[part],
      all,
    )
  if (!Array.isArray(rows)) throw new Error(`${file} has no list ${list.join(' ')}`)
  return rows
}

/** Each row with each later one, in a row that has both of their changes and the `expect` of the earlier one. */
function pairsOf(rows: readonly Row[]): Row[] {
  return rows.flatMap((first, at) =>
    rows
      .slice(at + 1)
      .filter((second) => !isShared(changesOf(first), changesOf(second)))
      .map((second) => ({
        ...merged(changesOf(first), changesOf(second)),
        name: `${first.name} before ${second.name}`,
        expect: first.expect,
      })),
  )
}

function changesOf({ name: _name, expect: _expect, ...changes }: Row): Row {
  return changes
}

function isObject(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Object.keys(value).some((key) => key.startsWith('$'))
}

/** Whether two rows change the same member. */
function isShared(one: Row, other: Row): boolean {
  return Object.keys(one).some((key) => {
    const [a, b] = [one[key], other[key]]
    return key in other && !(isObject(a) && isObject(b) && !isShared(a, b))
  })
}

function merged(one: Row, other: Row): Row {
  return Object.fromEntries(
    [...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => {
      const [a, b] = [one[key], other[key]]
      return [key, isObject(a) && isObject(b) ? merged(a, b) : (a ?? b)]
    }),
  )
}

/** A value of a row can use what earlier steps kept, so it is made when a step first asks for it. */
function defineLate(scope: Record<string, unknown>, name: string, make: () => unknown): void {
  Object.defineProperty(scope, name, {
    configurable: true,
    enumerable: true,
    get() {
      const value = make()
      Object.defineProperty(scope, name, { value })
      return value
    },
  })
}

function sharedOf(file: CaseFile, shared: Shared, world: World): Promise<Record<string, unknown>> {
  const known = shared.get(world.server)
  if (known !== undefined) return known
  const made = (async () => {
    const { authority, limits } = world.server
    const scope: Record<string, unknown> = {
      authority,
      limits,
      host: new URL(world.server.urls[0] ?? '').host,
      receiver: world.receiver,
      retention: world.retentionSeconds,
    }
    const agents = await Promise.all(
      (file.agents ?? []).map(async (name): Promise<[string, Agent]> => [name, await world.agent()]),
    )
    const strangers = (file.strangers ?? []).map((name): [string, Agent] => [name, world.stranger()])
    Object.assign(scope, Object.fromEntries([...agents, ...strangers]))
    await runSteps(file.setup ?? [], scope, world)
    return scope
  })()
  shared.set(world.server, made)
  return made
}

function checkStep(step: Step, where: string): void {
  refuseOthers(step, STEP_KEYS, `a step of ${where}`)
  for (const one of step.all ?? []) checkStep(one, where)
}

function refuseOthers(object: object, known: readonly string[], where: string): void {
  const other = Object.keys(object).find((key) => !known.includes(key))
  if (other !== undefined) throw new Error(`${where} has the unknown member ${other}; known are ${known.join(', ')}`)
}

function slug(name: string): string {
  return name
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-|-$/g, '')
    .slice(0, 60)
}
