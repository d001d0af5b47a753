/**
 * The text of an owner's migration that makes its table of operations. A migration must never change once it was run,
 * so each owner keeps a copy under `migrations/`; a test holds every copy against the one source, and a change of the
 * source is a new file beside it.
 *
 * `node libs/charging/src/operations-migration.ts <schema> > services/<owner>/migrations/0003_operations-1.sql`
 */
import { readFileSync } from 'node:fs'

/** @param schema the owner's, which is also the name of its role. */
export function operationsMigration(schema: string): string {
  if (!/^[a-z][a-z_]*$/.test(schema)) throw new RangeError(`${schema} is not the name of a schema`)
  const source = readFileSync(new URL('../sql/operations-1.sql', import.meta.url), 'utf8')
  return `-- Copied by libs/charging/src/operations-migration.ts; not to be edited.\n${source.replaceAll('{{schema}}', schema)}`
}

if (import.meta.main) process.stdout.write(operationsMigration(process.argv[2] ?? ''))
