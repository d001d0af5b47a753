/**
 * Verifies the books of one database without its services, by the same code as theirs. `svc admin restore` and `svc admin drill`
 * start it. `SVC_DATABASE_URL` is the URL of a role that may read every schema. Prints a line of JSON for each discrepancy,
 * and one with the sections at the end.
 */
import { parseArgs } from 'node:util'
import { judgeCharges, listCharges, sumCharges, verifyAccounts } from '@svc/budget/handlers/books.ts'
import { booksEndpoints } from '@svc/charging/books.ts'
import { verifyBooks } from '@svc/cli/admin/verify-books.ts'
import { readDatabaseUrl } from '@svc/config/connections.ts'
import { ConfigError, envReader } from '@svc/config/env-reader.ts'
import * as calls from '@svc/contracts/admin.ts'
import type { Call } from '@svc/contracts/define.ts'
import { adminEndpoints } from '@svc/messaging/admin-calls.ts'
import { type Endpoint, handle } from '@svc/nats/serve.ts'
import { decodeReply } from '@svc/nats/wire/frames.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'

/** Held reservations are right in a copy: no resolver has run yet. */
const UNFINISHED = 'overdue reservation'
const ACCOUNTS_PER_PAGE = 5_000

try {
  parseArgs({ options: {} })
  const e = envReader(process.env)
  const url = readDatabaseUrl(e)
  e.check()
  await verify(url)
} catch (error) {
  console.error(error instanceof Error ? error.message : error)
  process.exitCode = error instanceof ConfigError ? 78 : 1
}

async function verify(url: string): Promise<void> {
  const logger = createLogger('verify-books', 'silent')
  await using database = openDatabase({ url, application: 'svc-verify', logger, poolSize: 2 })
  let unfinished = 0
  const sections = await verifyBooks(askOf(endpointsOf(database)), {
    agentId: undefined,
    accountsPerPage: ACCOUNTS_PER_PAGE,
    signal: new AbortController().signal,
    onWrong(section, wrong) {
      if (wrong.rule === UNFINISHED) unfinished += 1
      else print({ section, wrong })
    },
  })
  const found = sections.map((section) =>
    section.name === 'accounts' ? { ...section, wrong: section.wrong - unfinished } : section,
  )
  print({ sections: found, unfinished })
}

function endpointsOf(database: Database): Endpoint[] {
  return [
    handle(calls.verifyAccounts, (request) => verifyAccounts({ database }, request)),
    handle(calls.sumCharges, (request) => sumCharges({ database }, request)),
    handle(calls.listCharges, (request) => listCharges({ database }, request)),
    handle(calls.judgeCharges, (request) => judgeCharges({ database }, request)),
    ...adminEndpoints({ database, retentionDays: 1 }),
    ...(['identity', 'boards', 'webhook'] as const).flatMap((owner) => booksEndpoints({ owner, database })),
  ]
}

/** Calls without NATS. */
function askOf(endpoints: readonly Endpoint[]) {
  return async <Q, R>(call: Call<Q, R>, request: Q): Promise<R> => {
    const endpoint = endpoints.find(({ subject }) => subject === call.subject)
    if (endpoint === undefined) throw new Error(`${call.subject} is not part of the books`)
    const line = await endpoint.answer(0, request, { traceparent: newTraceparent(), deadlineMs: Date.now() + 60_000 })
    const answer = decodeReply(line)
    if (answer.kind !== 'json' || !call.isReply(answer.reply))
      throw new Error(`${call.subject} answered something else`)
    return answer.reply
  }
}

function print(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value)}\n`)
}
