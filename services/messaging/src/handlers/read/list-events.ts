import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { listEvents as listEventsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { eventsText } from '../../domain/pages.ts'
import { readEventPage } from './event-page.ts'

/** A page of live events by cursor, as JSON for the client (spec 9.4), with the log's first and last cursor (spec 9.6). */
export async function listEvents(
  deps: Pick<Deps, 'database' | 'boards' | 'retentionDays'>,
  request: RequestOf<typeof listEventsCall>,
  context: CallContext,
): Promise<ReplyOf<typeof listEventsCall>> {
  const { texts, examined, earliest, latest } = await readEventPage(deps, request, context)
  return { meta: { earliest, latest }, text: eventsText(texts, examined, deps.retentionDays) }
}
