/** Copies of the reference server that break one rule. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { startReference } from '@svc/test/reference/server.ts'
import { parse } from 'yaml'

interface Mutant {
  /** The section of the specification that the fault breaks. */
  readonly spec: string
  /** What the spoilt server does. */
  readonly fault: string
  /** Occurs once in the reference server. */
  readonly replace: string
  readonly by: string
  /** The id of a case that fails. */
  readonly caught_by: string
}

export const MUTANTS = parse(readFileSync(new URL('mutants.yaml', import.meta.url), 'utf8')) as Mutant[]

const REFERENCE = readFileSync(new URL('../../../test/reference/server.ts', import.meta.url), 'utf8')
// Below node_modules of the reference server, so that its packages resolve. Node strips no types there.
const CACHE = new URL('../../../test/node_modules/.cache/', import.meta.url)

interface Spoilt extends Disposable {
  start: typeof startReference
}

export async function spoil({ fault, replace, by }: Mutant): Promise<Spoilt> {
  const parts = REFERENCE.split(replace)
  if (parts.length !== 2) throw new Error(`${fault} replaces a text that occurs ${parts.length - 1} times: ${replace}`)
  const folder = new URL(`spoilt-${crypto.randomUUID()}/`, CACHE)
  mkdirSync(folder, { recursive: true })
  const file = new URL('server.mjs', folder)
  writeFileSync(file, stripTypeScriptTypes(parts.join(by)))
  const { start } = await import(fileURLToPath(file)).then(({ startReference: start }) => ({ start }))
  return { start, [Symbol.dispose]: () => rmSync(folder, { recursive: true }) }
}
