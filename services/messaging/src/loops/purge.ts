import { DEFAULT_STREAM_BOUNDS } from '@svc/nats/streams/streams.ts'
import type { Database, Tx } from '@svc/postgres/database.ts'
import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { Purged } from '../store/operate/expired.ts'
import { lockExpired, purgeOutbox, purgePending, purgeVotes, removeMessages } from '../store/operate/purge.ts'
import { purgeMessageFences } from '../store/send/message-fences.ts'

/** Nothing waits for a purge, because every query leaves expired rows out. */
const INTERVAL_MS = 5_000
/** Rows per transaction. Small, so that an append that needs one of the rows does not wait for long. */
const BATCH_ROWS = 200
/** Removes expired rows in small transactions. Any number of processes may run it: each skips rows that another has locked. */
export function startPurgeLoop(database: Database, logger: Logger, outboxSeconds: number): Loop {
  const run = async (): Promise<boolean> => (await purgeBatch(database, outboxSeconds)).more
  return startLoop({ name: 'purge', logger, intervalMs: INTERVAL_MS, run })
}

/** Purges one batch of each kind. @returns true if there may be more. */
export async function purgeOnce(database: Database): Promise<boolean> {
  return (await purgeBatch(database)).more
}

/**
 * Like `purgeOnce`, and returns how many rows of each kind it removed.
 * @param outboxSeconds how long published outbox rows are kept. If JetStream loses events of that time they are published
 *   again. Older events are read from the logs.
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

/**
 * Purges in two statements, because the second one must see every change made before the first one locked the messages.
 * @returns how many messages it removed.
 */
async function purgeMessages(tx: Tx): Promise<number> {
  const ids = await lockExpired(tx, BATCH_ROWS)
  if (ids.length > 0) await removeMessages(tx, ids)
  return ids.length
}
