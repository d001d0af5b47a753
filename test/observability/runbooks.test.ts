/** docs/operating/runbooks: what an operator copies from a page must run. */
import { globSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { expect, test } from 'vitest'
import { borrowDatabase } from '../support/engines/database.ts'

const PAGES = fileURLToPath(new URL('../../docs/operating/runbooks/', import.meta.url))
/** Those with a `<value>` need one from the reader. */
const QUERIES = globSync('*.md', { cwd: PAGES }).flatMap((page) =>
  [...readFileSync(PAGES + page, 'utf8').matchAll(/`(select [^`<]*(?:<[^`a-z][^`<]*)*)`/g)].map(([, query = '']) => ({
    page,
    query,
  })),
)

test('every query of a runbook runs', async () => {
  await using database = await borrowDatabase()
  await using stack = new AsyncDisposableStack()
  const sql = stack.adopt(postgres(database.adminUrl, { max: 1 }), (open) => open.end())
  expect(QUERIES.length).toBeGreaterThan(10)
  for (const { page, query } of QUERIES) await expect(sql.unsafe(query), `${page}: ${query}`).resolves.toBeDefined()
})
