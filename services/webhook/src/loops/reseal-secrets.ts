import { type Loop, startLoop } from '@svc/service/loop.ts'
import type { WebhookDeps } from '../deps.ts'
import { listSealedOtherwise, replaceSealed, type SealedEndpoint, type SealedPlace } from '../store/endpoints.ts'

const INTERVAL_MS = 60_000
const BATCH_ROWS = 100
const BEGINNING: SealedPlace = { keyId: '', agentId: '' }

/**
 * Seals secrets again with the current key if an older key has sealed them. When no secret is sealed with the older key any
 * more, the operator may remove that key. A secret that cannot be decrypted stays as it is, because its key may be put back.
 * It is skipped, counted, and logged once per round. Safe on many replicas.
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
      logger.error({ err: unreadable.first, secrets: unreadable.count }, 'webhook secrets could not be decrypted')
    after = BEGINNING
    resealed = 0
    unreadable = { count: 0 }
  }
}
