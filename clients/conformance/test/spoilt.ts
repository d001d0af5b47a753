/** Copies of the reference server that break one rule. */
import { randomUUID } from 'node:crypto'
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

/** @returns what starts the spoilt copy. */
export async function spoil({ fault, replace, by }: Mutant): Promise<typeof startReference> {
  const parts = REFERENCE.split(replace)
  if (parts.length !== 2) throw new Error(`${fault} replaces a text that occurs ${parts.length - 1} times: ${replace}`)
  const folder = new URL(`spoilt-${randomUUID()}/`, CACHE)
  const file = new URL('server.mjs', folder)
  mkdirSync(folder, { recursive: true })
  try {
    writeFileSync(file, stripTypeScriptTypes(parts.join(by)))
    const server = (await import(fileURLToPath(file))) as { startReference: typeof startReference }
    return server.startReference
  } finally {
    rmSync(folder, { recursive: true })
  }
}
