/**
 * Owns: agents and their settings, consumed challenges and nonces (schema `identity`).
 * Scale: any number of processes. They share calls by queue group, every loop is safe on many replicas, and no state is
 * kept between calls.
 * Limit: one Postgres primary, and its commits. A signed request is one row; 128 rows at most share a commit. Pool size
 * x processes must stay below max_connections.
 */
import { createSecretKey, type KeyObject } from 'node:crypto'
import { auditEndpoint } from '@svc/audit/audit.ts'
import { booksEndpoints } from '@svc/charging/books.ts'
import { createCharging } from '@svc/charging/charging.ts'
import { createOperations } from '@svc/charging/operations.ts'
import { startOperationsPurge } from '@svc/charging/purge.ts'
import { startResolver } from '@svc/charging/resolver.ts'
import * as admin from '@svc/contracts/admin.ts'
import * as erasure from '@svc/contracts/erasure.ts'
import * as calls from '@svc/contracts/identity.ts'
import { handle } from '@svc/nats/serve.ts'
import type { RunningService } from '@svc/service/run-service.ts'
import { startService } from '@svc/service/start-service.ts'
import { assertVerifier } from '@svc/svc1/node/assert-verifier.ts'
import { logEngine } from '@svc/svc1/node/engine.ts'
import { createSecurityLog } from '@svc/telemetry/security-log.ts'
import type { IdentityConfig } from './config.ts'
import type { IdentityDeps } from './deps.ts'
import { reservedNames } from './domain/reserved-names.ts'
import { admitRequest } from './handlers/admit-request.ts'
import { cancelErasure, demandErasure, listErasures } from './handlers/erase-agent.ts'
import { findAgent } from './handlers/find-agent.ts'
import { findAgentByName } from './handlers/find-agent-by-name.ts'
import { getIdentity } from './handlers/get-identity.ts'
import { issueChallenge } from './handlers/issue-challenge.ts'
import { listAgents } from './handlers/list-agents.ts'
import { registerAgent } from './handlers/register-agent.ts'
import { revokeAgent } from './handlers/revoke-agent.ts'
import { resumeAgent, suspendAgent } from './handlers/suspend-agent.ts'
import { updateSettings } from './handlers/update-settings.ts'
import { startCloseWebhooks } from './loops/close-webhooks.ts'
import { startEraseAgents } from './loops/erase-agents.ts'
import { startPurgeChallenges } from './loops/purge-challenges.ts'
import { startPushMailboxes } from './loops/push-mailboxes.ts'
import { startPushSuspensions } from './loops/push-suspensions.ts'
import { startTruncateNonces } from './loops/truncate-nonces.ts'
import { createAdmit } from './store/nonces.ts'
import { createAgentReaders } from './store/readers.ts'

/**
 * Limits each call that anybody may send, so that challenges and registrations cannot hold up nonces and keys. Most
 * database connections stay free.
 */
const UNSIGNED = { atOnce: 2, maxWaiting: 128 }

export function startIdentity(config: IdentityConfig): Promise<RunningService> {
  return startService({
    name: 'identity',
    config,
    schemaDir: new URL('../database/', import.meta.url),
    build: ({ logger, database, bus }) => {
      assertVerifier()
      logEngine(logger)
      const operations = createOperations({ database, schema: 'identity' })
      const deps: IdentityDeps = {
        database,
        bus,
        operations,
        charging: createCharging({ owner: 'identity', bus, logger, fences: operations }),
        readers: createAgentReaders(database),
        admit: createAdmit(database),
        security: createSecurityLog({ logger, isOn: config.securityLog, events: ['registration', 'revocation'] }),
        authority: config.authority,
        isReserved: reservedNames(config.reservedNames),
        powDifficulty: config.powDifficulty,
        challengeKeys: secretKeys(config.challengeKeys),
      }
      return {
        endpoints: [
          handle(calls.issueChallenge, (request) => issueChallenge(deps, request), UNSIGNED),
          handle(calls.registerAgent, (request, context) => registerAgent(deps, request, context), UNSIGNED),
          handle(calls.findAgent, (request) => findAgent(deps, request)),
          handle(calls.findAgentByName, (request) => findAgentByName(deps, request)),
          handle(calls.admitRequest, (request) => admitRequest(deps, request)),
          handle(calls.listAgents, (request) => listAgents(deps, request)),
          handle(calls.getIdentity, (request) => getIdentity(deps, request)),
          handle(calls.updateSettings, (request, context) => updateSettings(deps, request, context)),
          handle(calls.revokeAgent, (request, context) => revokeAgent(deps, request, context)),
          handle(admin.suspendAgent, (request, context) => suspendAgent(deps, request, context)),
          handle(admin.resumeAgent, (request, context) => resumeAgent(deps, request, context)),
          ...booksEndpoints({ owner: 'identity', database }),
          auditEndpoint('identity', database),
          handle(erasure.demandErasure, (request, context) => demandErasure(deps, request, context)),
          handle(erasure.cancelErasure, (request, context) => cancelErasure(deps, request, context)),
          handle(erasure.listErasures, (request) => listErasures(deps, request)),
        ],
        loops: [
          startPushMailboxes({ database, bus, logger }),
          startPushSuspensions({ database, bus, logger }),
          startCloseWebhooks({ database, bus, logger }),
          startEraseAgents({ database, bus, logger }),
          startTruncateNonces({ database, logger }),
          startPurgeChallenges({ database, logger }),
          startResolver({ owner: 'identity', bus, logger, fences: operations }),
          startOperationsPurge({ owner: 'identity', bus, logger, operations }),
        ],
      }
    },
  })
}

/** HMAC hashes keys of any length to one size, so their text may use any alphabet. */
function secretKeys([first = '', ...others]: readonly string[]): [KeyObject, ...KeyObject[]] {
  const toKey = (text: string): KeyObject => createSecretKey(text, 'utf8')
  return [toKey(first), ...others.map(toKey)]
}
