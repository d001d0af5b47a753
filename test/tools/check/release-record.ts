import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { CallSchemas } from '@svc/contracts/define.ts'
import { STORES } from '@svc/local/topology.ts'
import { readSchemaFiles } from '@svc/postgres/migration/schema-files.ts'
import type { CallRecord, FunctionRecord, ReleaseRecord } from './release-growth.ts'
import { readSignature } from './sql-signature.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const CONTRACTS = join(ROOT, 'libs/contracts/src')
/** The imports of calls that a file makes. A package that answers calls imports the whole module, or only types, and neither matches. */
const IMPORTS = /(?:import|const) \{([^}]*)\} (?:from|= await import\() ?'@svc\/contracts\/([^']+)'/g
const COMMENT = /\/\*[\s\S]*?\*\/|\/\/[^\n]*/g
/** The state of the last release, as `npx pnpm release:record` wrote it. */
export const RECORD_PATH: string = fileURLToPath(new URL('./released.json', import.meta.url))

interface Defined {
  readonly subject: string
  readonly schemas: CallSchemas
}

/** The state of this tree. Leaves out calls whose subject a function makes for each service or process. */
export async function recordRelease(): Promise<ReleaseRecord> {
  const asked = findAsked()
  const calls: [string, CallRecord][] = []
  for (const file of readdirSync(CONTRACTS).filter((name) => /(?<!\.test)\.ts$/.test(name))) {
    const module: Record<string, unknown> = await import(pathToFileURL(join(CONTRACTS, file)).href)
    for (const [name, value] of Object.entries(module)) {
      if (!isCall(value)) continue
      const askedBy = [...(asked.get(`${file} ${name}`) ?? [])].toSorted()
      calls.push([value.subject, { ...value.schemas, askedBy }])
    }
  }
  const tables: [string, string][] = []
  const functions: [string, FunctionRecord][] = []
  const sources = ['services', 'libs', 'clients'].flatMap((kind) =>
    readdirSync(join(ROOT, kind)).flatMap((name) =>
      sourcesOf(join(ROOT, kind, name, 'src')).map((source) => source.replaceAll(COMMENT, '')),
    ),
  )
  for (const store of STORES) {
    const files = readSchemaFiles(join(ROOT, 'services', store, 'database'), store)
    for (const name of files.tables) {
      tables.push([`${store}/${name}.sql`, hashOf(readFileSync(join(files.tablesDir, `${name}.sql`), 'utf8'))])
    }
    for (const { name, revision, text } of files.functions) {
      // The schema may be a variable: `${schema}.fence_operations`.
      const call = new RegExp(`\\b${store}\\.${name}\\(|\\$\\{schema\\}\\.${name}\\b`)
      const called = sources.some((source) => call.test(source))
      functions.push([`${store}.${name}`, { signature: readSignature(text), revision, checksum: hashOf(text), called }])
    }
  }
  const record = { calls: sorted(calls), tables: sorted(tables), functions: sorted(functions) }
  // The schema as a file would have it, without TypeBox's own symbols.
  return JSON.parse(JSON.stringify(record)) as ReleaseRecord
}

function isCall(value: unknown): value is Defined {
  return typeof value === 'object' && value !== null && 'subject' in value && 'schemas' in value
}

/** The packages that import a call at run time, by `<file> <export>`. */
function findAsked(): Map<string, Set<string>> {
  const asked = new Map<string, Set<string>>()
  for (const kind of ['services', 'libs', 'clients']) {
    for (const name of readdirSync(join(ROOT, kind))) {
      if (name === 'contracts') continue
      for (const text of sourcesOf(join(ROOT, kind, name, 'src'))) {
        for (const [, names = '', file = ''] of text.matchAll(IMPORTS)) {
          for (const imported of names.split(',')) {
            const key = `${file} ${imported.trim().split(' ')[0]}`
            const packages = asked.get(key) ?? new Set()
            asked.set(key, packages.add(name))
          }
        }
      }
    }
  }
  return asked
}

function sourcesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => /(?<!\.test)\.ts$/.test(path))
    .map((path) => readFileSync(join(folder, path), 'utf8'))
}

/** Leaves out the comments, because they may change after a file has run. */
function hashOf(text: string): string {
  const statements = text.replaceAll(/--.*$/gm, '').replaceAll(/\s+/g, ' ').trim()
  return createHash('sha256').update(statements).digest('hex')
}

function sorted<T>(entries: readonly [string, T][]): Record<string, T> {
  return Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
