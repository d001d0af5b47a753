import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { Logger } from '@svc/telemetry/logger.ts'
import type { IdentityDeps } from '../deps.ts'
import { truncateNonces } from '../store/nonces.ts'

/** Short against the eight minutes of a slot in which a partition may be truncated, so a few failures do no harm. */
const INTERVAL_MS = 20_000

/** Keeps the storage of nonces bounded. Safe on many replicas: the second one finds nothing to truncate. */
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
