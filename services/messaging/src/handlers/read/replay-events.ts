import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { replayEvents as replayEventsCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { readEventPage } from './event-page.ts'

/** Compact JSON never contains a tab. */
const SEPARATOR = '\t'

/** Returns the events of `listEvents` as separate texts, because a stream writes each event on its own. */
export async function replayEvents(
  deps: Pick<Deps, 'database' | 'boards'>,
  request: RequestOf<typeof replayEventsCall>,
  context: CallContext,
): Promise<ReplyOf<typeof replayEventsCall>> {
  const { cursors, texts, examined, earliest, latest } = await readEventPage(deps, request, context)
  return { meta: { earliest, latest, next_cursor: examined, cursors }, text: texts.join(SEPARATOR) }
}
