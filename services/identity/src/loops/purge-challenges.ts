import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { IdentityDeps } from '../deps.ts'
import { purgeChallenges } from '../store/consumed-challenges.ts'

const INTERVAL_MS = 20_000
const BATCH = 1_000

/** Keeps the storage of challenges bounded. Safe on many replicas: each skips the rows that another is removing. */
export function startPurgeChallenges({ database, logger }: Pick<IdentityDeps, 'database'> & { logger: Logger }): Loop {
  return startLoop({
    name: 'purge-challenges',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => (await database.run((sql) => purgeChallenges(sql, BATCH))) === BATCH,
  })
}
