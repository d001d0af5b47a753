import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { IdentityDeps } from '../deps.ts'
import { truncateNonces } from '../store/nonces.ts'

/** Often within the eight minutes of a slot in which there may be something to do, so a few failures matter nothing. */
const INTERVAL_MS = 20_000

/** Keeps the storage of nonces bounded. Safe on many replicas: the second finds nothing to do. */
export function startTruncateNonces({ database, logger }: Pick<IdentityDeps, 'database'> & { logger: Logger }): Loop {
  return startLoop({
    name: 'truncate-nonces',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      await database.run((sql) => truncateNonces(sql))
      return false
    },
  })
}
