import { DEFAULT_STREAM_BOUNDS } from '@svc/nats/streams.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Purged } from '../store/expired.ts'
import { purgeMessageFences } from '../store/message-fences.ts'
import { lockExpired, purgeOutbox, purgePending, purgeVotes, removeMessages } from '../store/purge.ts'

/** Nothing waits for a purge: what has expired is invisible before. */
const INTERVAL_MS = 5_000
/** Rows of one transaction: short, so that an append that needs one of them does not wait. */
const BATCH_ROWS = 200
/** Removes what has expired, a small transaction at a time. Any number at once: rows that another takes are skipped. */
export function startPurgeLoop(database: Database, logger: Logger, outboxSeconds: number): Loop {
  const run = async (): Promise<boolean> => (await purgeBatch(database, outboxSeconds)).more
  return startLoop({ name: 'purge', logger, intervalMs: INTERVAL_MS, run })
}

/** One batch of each kind. @returns true where more is waiting. */
export async function purgeOnce(database: Database): Promise<boolean> {
  return (await purgeBatch(database)).more
}

/**
 * As `purgeOnce`, with numbers.
 * @param outboxSeconds what JetStream forgets of this time is published again; older entries are looked up in the logs.
 */
export async function purgeBatch(
  database: Database,
  outboxSeconds: number = DEFAULT_STREAM_BOUNDS.keepSeconds,
): Promise<Purged> {
  const messages = await database.transaction((tx) => purgeMessages(tx))
  const votes = await database.run((sql) => purgeVotes(sql, BATCH_ROWS))
  const requests = await database.run((sql) => purgePending(sql, BATCH_ROWS))
  const outbox = await database.run((sql) => purgeOutbox(sql, outboxSeconds, BATCH_ROWS))
  const fences = await database.run((sql) => purgeMessageFences(sql, BATCH_ROWS))
  const more = Math.max(messages, votes, requests, outbox, fences) === BATCH_ROWS
  return { messages, votes, requests, outbox_rows: outbox, fences, more }
}

/** Two statements: the second sees what was done to the messages until the first had locked them. @returns how many. */
async function purgeMessages(tx: Tx): Promise<number> {
  const ids = await lockExpired(tx, BATCH_ROWS)
  if (ids.length > 0) await removeMessages(tx, ids)
  return ids.length
}
