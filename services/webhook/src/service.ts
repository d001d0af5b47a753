/**
 * Owns: webhooks, their secrets, and the delivery jobs (schema `webhook`).
 * Scale: any number of processes. They share calls by queue group, events by one durable consumer, and jobs by `skip
 * locked` and a lease. No state is kept between calls.
 * Limit: one Postgres primary, and the signatures and handshakes of deliveries, one core per process. All tables can be
 * sharded by agent. Pool size x processes must stay below max_connections.
 */
import { eraseEndpoint } from '@svc/audit/audit.ts'
import { createCharging } from '@svc/charging/charging.ts'
import { createOperations } from '@svc/charging/operations.ts'
import { startOperationsPurge } from '@svc/charging/purge.ts'
import { startResolver } from '@svc/charging/resolver.ts'
import * as erasure from '@svc/contracts/erasure.ts'
import * as calls from '@svc/contracts/webhook.ts'
import { handle } from '@svc/nats/serve.ts'
import { createResolve, type Resolve } from '@svc/outbound/resolve.ts'
import type { Loop } from '@svc/service/loop.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import { createSecurityLog } from '@svc/telemetry/security-log.ts'
import { adminEndpoints } from './admin-calls.ts'
import type { WebhookConfig } from './config.ts'
import type { WebhookDeps } from './deps.ts'
import { createSecretBox } from './domain/secret-box.ts'
import { closeWebhook, deleteWebhook } from './handlers/delete-webhook.ts'
import { eraseOrphans } from './handlers/erase-orphans.ts'
import { getWebhook } from './handlers/get-webhook.ts'
import { measureWebhooks } from './handlers/measure-webhooks.ts'
import { setSuspension } from './handlers/set-suspension.ts'
import { setWebhook } from './handlers/set-webhook.ts'
import { startClaimJobs } from './loops/claim-jobs.ts'
import { Deliveries } from './loops/deliveries.ts'
import { startIngest } from './loops/ingest.ts'
import { startReconcile } from './loops/reconciliation.ts'
import { startRemoveJobs } from './loops/remove-jobs.ts'
import { startResealSecrets } from './loops/reseal-secrets.ts'
import { consumerLag, covered, inFlight, oldestDue } from './metrics.ts'
import { createIsConfigured, oldestDueSeconds } from './store/endpoints.ts'
import { eraseAgent } from './store/erase.ts'
import { createBegin, createEndAttempts, createIngest } from './store/jobs.ts'
import { coveredSeconds } from './store/reconciliation.ts'

const MS_PER_SECOND = 1_000

/** @param resolve Replaces the resolver, for tests. */
export function startWebhook(config: WebhookConfig, resolve: Resolve = createResolve()): Promise<RunningService> {
  return startService({
    name: 'webhook',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    async build({ logger, database, nats, bus }) {
      const { exemptTargets, backoff, leaseSeconds, concurrency } = config
      if (exemptTargets.size > 0) {
        logger.warn(
          { targets: [...exemptTargets] },
          'TESTS ONLY: these targets are exempt from the public-address rule',
        )
      }
      const operations = createOperations({ database, schema: 'webhook' })
      let deliver: Loop | undefined
      const wake = (): void => deliver?.wake()
      const deps: WebhookDeps = {
        database,
        logger,
        security: createSecurityLog({
          logger,
          isOn: config.securityLog,
          events: ['webhook_changed', 'webhook_deleted'],
        }),
        operations,
        charging: createCharging({ owner: 'webhook', bus, logger, fences: operations }),
        secrets: createSecretBox(config.secretKeys),
        exemptTargets,
        isConfigured: createIsConfigured(database),
        ingest: createIngest(database, backoff, wake),
      }
      const deliveries = new Deliveries({
        ...deps,
        resolve,
        backoff,
        concurrency,
        attemptMs: config.attemptSeconds * MS_PER_SECOND,
        begin: createBegin(database, leaseSeconds),
        endAttempts: createEndAttempts(database),
        onEnd: wake,
      })
      deliver = startClaimJobs({ ...deps, deliveries, leaseSeconds })
      const ingestion = await startIngest({ ...deps, nats, management: config.streamManagement })
      inFlight.read(() => [[{}, deliveries.inFlight]])
      oldestDue.read(async () => [[{}, await database.run(oldestDueSeconds)]])
      covered.read(async () => [[{}, await database.run(coveredSeconds)]])
      consumerLag.read(async () => [[{}, await ingestion.lag()]])
      return {
        endpoints: [
          handle(calls.setWebhook, (request, context) => setWebhook(deps, request, context)),
          handle(calls.getWebhook, (request) => getWebhook(deps, request)),
          handle(calls.deleteWebhook, (request, context) => deleteWebhook(deps, request, context)),
          handle(calls.closeWebhook, (request) => closeWebhook(deps, request)),
          handle(calls.setSuspension, (request) => setSuspension({ database, wake }, request)),
          handle(calls.measureWebhooks, () => measureWebhooks({ ...deps, ingestion, deliveries })),
          ...adminEndpoints({ database, wake }),
          eraseEndpoint('webhook', database, eraseAgent),
          handle(erasure.eraseOrphans, (request, context) => eraseOrphans({ database, bus }, request, context)),
        ],
        loops: [
          deliver,
          ingestion.loop,
          startReconcile({ ...deps, bus, backoff, intervalSeconds: config.reconcileSeconds, made: wake }),
          startRemoveJobs(deps),
          startResealSecrets(deps),
          startResolver({ owner: 'webhook', bus, logger, fences: operations }),
          startOperationsPurge({ owner: 'webhook', bus, logger, operations }),
        ],
      }
    },
  })
}
