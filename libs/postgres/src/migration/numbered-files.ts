/** Reads numbered files for `node-pg-migrate`, whose own reader runs every SQL file in a transaction. */
import { readFile } from 'node:fs/promises'
import type { RunnerOption } from 'node-pg-migrate'

type Strategy = NonNullable<RunnerOption['migrationLoaderStrategies']>[number]

/**
 * The first line of a file whose statements each run by themselves, as `create index concurrently` needs. If one fails, the next
 * attempt begins again with the first. Such statements wait for transactions of others as long as it takes, because nobody waits
 * behind them.
 */
const WITHOUT_TRANSACTION = '-- without a transaction\n'
const END_OF_STATEMENT = /;\s*$/m

/** @param tableWaitMs the `lock_timeout` of the session, which all other files keep. */
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
