import type { Fences, Reservation } from '@svc/charging/fences.ts'
import { parseMessageOperation } from '@svc/contracts/message-operation.ts'
import type { Database, Sql, Tx } from '@svc/postgres/database.ts'

/** Fences for messages, whose operations are recorded by `messaging.ids`. Other operations go to `operations`. */
export function createFences(database: Database, operations: Fences): Fences {
  return {
    async fence(items) {
      const messages = items.filter((item) => parseMessageOperation(item.operation) !== undefined)
      const others = items.filter((item) => parseMessageOperation(item.operation) === undefined)
      const [ofMessages, ofOthers] = await Promise.all([
        messages.length === 0 ? [] : database.run((sql) => fenceMessages(sql, messages)),
        others.length === 0 ? [] : operations.fence(others),
      ])
      const committed = new Map<Reservation, boolean | undefined>()
      messages.forEach((item, index) => void committed.set(item, ofMessages[index]))
      others.forEach((item, index) => void committed.set(item, ofOthers[index]))
      return items.map((item) => committed.get(item))
    },
  }
}

async function fenceMessages(sql: Sql, items: Reservation[]): Promise<(boolean | undefined)[]> {
  const parsed = items.map((item) => parseMessageOperation(item.operation))
  const rows = await sql<{ committed: boolean | null }[]>`
    select committed from messaging.fence_appends(
      ${items.map((item) => item.operation)}::text[],
      ${parsed.map((message) => message?.id ?? '')}::text[],
      ${parsed.map((message) => message?.digest ?? '')}::text[],
      ${items.map((item) => item.deadlineMs)}::bigint[]
    ) order by ord`
  return rows.map((row) => row.committed ?? undefined)
}

/** How long fences are kept. An older reservation cannot be committed even without a fence, because its deadline has passed. */
const KEPT_SECONDS = 24 * 60 * 60

export async function purgeMessageFences(sql: Sql | Tx, limit: number): Promise<number> {
  const removed = await sql`
    delete from messaging.message_fences f using (
      select operation from messaging.message_fences
      where fenced_at < clock_timestamp() - make_interval(secs => ${KEPT_SECONDS}) limit ${limit} for update skip locked
    ) old where f.operation = old.operation`
  return removed.count
}
