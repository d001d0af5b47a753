import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { listSealedOtherwise, replaceSealed, type SealedEndpoint, type SealedPlace } from '../store/endpoints.ts'

const INTERVAL_MS = 60_000
const BATCH_ROWS = 100
const BEGINNING: SealedPlace = { keyId: '', agentId: '' }

/**
 * Puts secrets that an older key has sealed under the present one; when none is left the older key may go. One that does not
 * open is passed over: it is counted, said once in each round, and stays as it is, for a key that may yet be put
 * back. Any number at once.
 */
export function startResealSecrets({
  database,
  logger,
  secrets,
}: Pick<WebhookDeps, 'database' | 'logger' | 'secrets'>): Loop {
  let after = BEGINNING
  let resealed = 0
  let unreadable: { count: number; first?: unknown } = { count: 0 }

  return startLoop({
    name: 'reseal-secrets',
    logger,
    intervalMs: INTERVAL_MS,
    run: async () => {
      const endpoints = await database.run((sql) => listSealedOtherwise(sql, secrets.keyId, after, BATCH_ROWS))
      const opened = endpoints.flatMap((endpoint) => reseal(endpoint) ?? [])
      if (opened.length > 0) await database.run((sql) => replaceSealed(sql, opened))
      resealed += opened.length
      after = endpoints.at(-1) ?? BEGINNING
      if (endpoints.length === BATCH_ROWS) return true
      sayAndBeginAnew()
      return false
    },
  })

  function reseal(endpoint: SealedEndpoint): SealedEndpoint | undefined {
    try {
      return { ...endpoint, ...secrets.seal(secrets.open(endpoint, endpoint), endpoint) }
    } catch (error) {
      unreadable = { first: error, ...unreadable, count: unreadable.count + 1 }
      return undefined
    }
  }

  function sayAndBeginAnew(): void {
    if (resealed > 0) logger.info({ secrets: resealed }, 'secrets sealed with the present key')
    if (unreadable.count > 0)
      logger.error({ err: unreadable.first, secrets: unreadable.count }, 'webhook secrets do not open')
    after = BEGINNING
    resealed = 0
    unreadable = { count: 0 }
  }
}
