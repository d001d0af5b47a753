import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { listSealedOtherwise, replaceSealed } from '../store/endpoints.ts'

const INTERVAL_MS = 60_000
const BATCH_ROWS = 100

/** Puts secrets that an older key has sealed under the present one; when none is left the older key may go. Any number at once. */
export function startResealSecrets({
  database,
  logger,
  secrets,
}: Pick<WebhookDeps, 'database' | 'logger' | 'secrets'>): Loop {
  return startLoop({
    name: 'reseal-secrets',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const endpoints = await database.run((sql) => listSealedOtherwise(sql, secrets.keyId, BATCH_ROWS))
      for (const endpoint of endpoints) {
        const secret = secrets.open(endpoint, endpoint)
        await database.run((sql) => replaceSealed(sql, endpoint, secrets.seal(secret, endpoint)))
      }
      if (endpoints.length > 0) logger.info({ secrets: endpoints.length }, 'secrets sealed with the present key')
      return endpoints.length === BATCH_ROWS
    },
  })
}
