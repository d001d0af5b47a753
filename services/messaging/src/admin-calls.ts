import { auditEndpoint } from '@svc/audit/audit.ts'
import { booksEndpoints } from '@svc/charging/books.ts'
import * as calls from '@svc/contracts/admin.ts'
import { type Endpoint, handle } from '@svc/nats/serve.ts'
import type { Deps } from './deps.ts'
import { judgeMessages, verifyLogs, verifyMessages } from './handlers/operate/books.ts'
import { purgeExpired } from './handlers/operate/purge-expired.ts'
import { raiseHeads } from './handlers/operate/raise-heads.ts'
import { takedownMessage } from './handlers/operate/takedown-message.ts'

/** The calls of messaging that serve the operator's tool (`svc admin`). */
export function adminEndpoints(deps: Pick<Deps, 'database' | 'retentionDays'>): Endpoint[] {
  return [
    handle(calls.purgeExpired, (request, context) => purgeExpired(deps, request, context)),
    handle(calls.raiseHeads, (request, context) => raiseHeads(deps, request, context)),
    handle(calls.takedownMessage, (request, context) => takedownMessage(deps, request, context, true)),
    handle(calls.restoreMessage, (request, context) => takedownMessage(deps, request, context, false)),
    handle(calls.verifyLogs, (request) => verifyLogs(deps, request)),
    handle(calls.verifyMessages, (request) => verifyMessages(deps, request)),
    ...booksEndpoints({ owner: 'messaging', database: deps.database, judge: judgeMessages }),
    auditEndpoint('messaging', deps.database),
  ]
}
