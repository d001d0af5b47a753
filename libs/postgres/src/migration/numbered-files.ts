/** Reads numbered files for `node-pg-migrate`, whose own reader runs every SQL file in a transaction. */
import { readFile } from 'node:fs/promises'
import type { RunnerOption } from 'node-pg-migrate'

type Strategy = NonNullable<RunnerOption['migrationLoaderStrategies']>[number]

/**
 * The first line of a file that runs one statement at a time, as `create index concurrently` requires. After a failure the file
 * runs again from its first statement, so each statement must be repeatable. The lock timeout is off, because reads and writes do
 * not wait behind `create` or `drop index concurrently`. Use only these two, and end no line of a comment with a semicolon.
 */
const WITHOUT_TRANSACTION = '-- without a transaction\n'
const END_OF_STATEMENT = /;\s*$/m

/** @param tableWaitMs the session's `lock_timeout`, which is restored after such a file. */
export function numberedFiles(tableWaitMs: number): Strategy {
  return { extensions: ['.sql'], loader: (paths) => Promise.all(paths.map((path) => readNumbered(path, tableWaitMs))) }
}

async function readNumbered(path: string, tableWaitMs: number) {
  const text = await readFile(path, 'utf8')
  const actions: Awaited<ReturnType<Exclude<Strategy['loader'], string>>>[number]['actions'] = {
    up(builder) {
      if (!text.startsWith(WITHOUT_TRANSACTION)) return builder.sql(text)
      builder.noTransaction()
      builder.sql('set lock_timeout = 0')
      for (const statement of text.split(END_OF_STATEMENT)) if (statement.trim() !== '') builder.sql(statement)
      builder.sql(`set lock_timeout = ${tableWaitMs}`)
    },
    down: false,
  }
  return { id: path, filePaths: [path], actions }
}
