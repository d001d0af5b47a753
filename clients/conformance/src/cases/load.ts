/** Reads the case files. A wrong case file is refused as a whole, with the place and the reason. */
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { parse } from 'yaml'
import type { Agent } from '../http/agent.ts'
import { findFolder } from '../report/rules.ts'
import { type Case, NEEDS, type Need, type World } from './case.ts'
import { runSteps, type Step } from './steps.ts'
import { evaluate } from './value.ts'

interface CaseFile {
  readonly about: string
  readonly spec?: readonly string[]
  readonly needs?: readonly Need[]
  /** Registered once, and shared by the cases of the file. */
  readonly agents?: readonly string[]
  /** Keys that nobody registered, shared too. */
  readonly strangers?: readonly string[]
  /** Runs once, before the first case that needs it. */
  readonly setup?: readonly Step[]
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
  readonly each?: readonly Readonly<Record<string, unknown>>[]
  /** The rows, from a list of a file in docs/vectors: `agent-ids.json refused_public_keys`. */
  readonly each_from?: string
  readonly steps: readonly Step[]
}

const FILE_KEYS = ['about', 'spec', 'needs', 'agents', 'strangers', 'setup', 'cases']
const CASE_KEYS = ['name', 'spec', 'needs', 'agents', 'strangers', 'each', 'each_from', 'steps']
const STEP_KEYS = [
  ...['as', 'do', 'send', 'make', 'body', 'text', 'headers', 'sign', 'gateway', 'expect', 'keep', 'eventually'],
  ...['pages', 'at_once', 'outcomes', 'all', 'spent', 'solve', 'operate', 'set', 'check', 'wait'],
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
    const rows = text.each ?? (text.each_from === undefined ? [{}] : vectorsOf(text.each_from))
    return rows.map((row, at) => caseOf({ fileId, file, shared }, text, row, rows.length > 1 ? at + 1 : undefined))
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
  number: number | undefined,
): Case {
  const spec = text.spec ?? file.spec ?? []
  const needs = [...new Set([...(file.needs ?? []), ...(text.needs ?? [])])]
  const unknown = needs.find((need) => !(need in NEEDS))
  if (spec.length === 0 || unknown !== undefined)
    throw new Error(`"${text.name}" ${unknown ? `needs ${unknown}` : 'names no section'}`)
  const suffix = number === undefined ? '' : ` (${String(row.name ?? row.about ?? number)})`
  return {
    id: `${fileId}/${slug(text.name)}${number === undefined ? '' : `-${slug(String(row.name ?? row.about ?? number))}`}`,
    title: `${file.about}: ${text.name}${suffix}`,
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

/** In the package the vectors stand beside `dist`, in a clone under docs. */
function vectorsOf(place: string): Readonly<Record<string, unknown>>[] {
  const [file = '', list = ''] = place.split(' ')
  const rows = JSON.parse(readFileSync(findFolder('vectors') + file, 'utf8'))[list]
  if (!Array.isArray(rows)) throw new Error(`${file} has no list ${list}`)
  return rows
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
      receiver: world.receiver,
      retention: world.retentionSeconds,
    }
    const agents = await Promise.all(
      (file.agents ?? []).map(async (name): Promise<[string, Agent]> => [name, await world.agent()]),
    )
    Object.assign(scope, Object.fromEntries(agents))
    for (const name of file.strangers ?? []) scope[name] = world.stranger()
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
