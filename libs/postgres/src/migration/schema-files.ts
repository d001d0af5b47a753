/** The SQL of a service, `services/<name>/database`: numbered files of tables, and one current file for each function. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

export interface FunctionFile {
  /** The name of the function and of its file, such as `reserve`. */
  readonly name: string
  /** Raise it when you change what the function does. */
  readonly revision: number
  readonly text: string
  /** SHA-256 of the text. */
  readonly checksum: string
}

export interface SchemaFiles {
  /** Where the numbered files are. */
  readonly tablesDir: string
  /** Their names without `.sql`, in the order in which they run. */
  readonly tables: readonly string[]
  readonly functions: readonly FunctionFile[]
}

/**
 * @param dir the folder `database`, with `tables` and, if the schema has functions, `functions`.
 * @throws Error if the first line of a function's file does not name its function and revision.
 */
export function readSchemaFiles(dir: string, schema: string): SchemaFiles {
  const tablesDir = join(dir, 'tables')
  const functionsDir = join(dir, 'functions')
  return {
    tablesDir,
    tables: sqlFilesIn(tablesDir).map((file) => basename(file, '.sql')),
    functions: existsSync(functionsDir)
      ? sqlFilesIn(functionsDir).map((file) => readFunction(join(functionsDir, file), schema))
      : [],
  }
}

function sqlFilesIn(dir: string): string[] {
  return readdirSync(dir)
    .filter((file) => file.endsWith('.sql'))
    .toSorted()
}

/** The first line must be `-- <schema>.<name>, revision <number>`, and the file must create only this function. */
function readFunction(path: string, schema: string): FunctionFile {
  const text = readFileSync(path, 'utf8')
  const name = basename(path, '.sql')
  const [, called, revision] = /^-- (\S+), revision (\d+)\n/.exec(text) ?? []
  if (called !== `${schema}.${name}`) {
    throw new Error(`${path} must begin with the line "-- ${schema}.${name}, revision 1", with its own revision`)
  }
  const made = [...text.matchAll(/^create\s+(?:or\s+replace\s+)?function\s+([^\s(]+)/gim)].map(([, one]) => one)
  if (made.length !== 1 || made[0] !== `${schema}.${name}`) {
    throw new Error(
      `${path} must create ${schema}.${name} and no other function; it creates ${made.join(', ') || 'none'}`,
    )
  }
  return { name, revision: Number(revision), text, checksum: createHash('sha256').update(text).digest('hex') }
}
