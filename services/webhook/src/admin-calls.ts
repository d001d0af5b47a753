import { auditEndpoint } from '@svc/audit/audit.ts'
import { booksEndpoints } from '@svc/charging/books.ts'
import * as calls from '@svc/contracts/admin.ts'
import { type Endpoint, handle } from '@svc/nats/serve.ts'
import type { WebhookDeps } from './deps.ts'
import { holdMessage } from './handlers/hold-message.ts'
import { inspectJobs, retryJobs } from './handlers/inspect-jobs.ts'

/** The calls that webhook serves for the operator's tool (`svc admin`). */
export function adminEndpoints(deps: Pick<WebhookDeps, 'database'> & { wake: () => void }): Endpoint[] {
  return [
    handle(calls.inspectJobs, (request) => inspectJobs(deps, request)),
    handle(calls.retryJobs, (request, context) => retryJobs(deps, request, context)),
    handle(calls.holdMessage, (request, context) => holdMessage(deps, request, context, true)),
    handle(calls.releaseMessage, (request, context) => holdMessage(deps, request, context, false)),
    ...booksEndpoints({ owner: 'webhook', database: deps.database }),
    auditEndpoint('webhook', deps.database),
  ]
}
