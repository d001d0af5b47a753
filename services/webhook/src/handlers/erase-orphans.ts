import type { CallContext, ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { type eraseOrphans as eraseOrphansCall, listMissing } from '@svc/contracts/erasure.ts'
import type { Bus } from '@svc/nats/bus.ts'
import type { WebhookDeps } from '../deps.ts'
import { eraseTexts, type JobPlace, listTexts } from '../store/erase.ts'

const JOBS_PER_CALL = 500
const START = '00000000-0000-0000-0000-000000000000:'

/** Asks messaging which messages of waiting and failed jobs are gone, and deletes the texts of those jobs. */
export async function eraseOrphans(
  { database, bus }: Pick<WebhookDeps, 'database'> & { readonly bus: Bus },
  { after }: RequestOf<typeof eraseOrphansCall>,
  context: CallContext,
): Promise<ReplyOf<typeof eraseOrphansCall>> {
  const jobs = await database.run((sql) => listTexts(sql, placeOf(after === '' ? START : after), JOBS_PER_CALL))
  const last = jobs.at(-1)
  if (last === undefined) return { next: null, counts: {} }
  const ids = [...new Set(jobs.map(({ messageId }) => messageId))]
  const { missing } = await bus.call(listMissing, { message_ids: ids }, context)
  const gone = new Set(missing)
  const orphans = jobs.filter(({ messageId }) => gone.has(messageId))
  const texts = orphans.length === 0 ? 0 : await database.transaction((tx) => eraseTexts(tx, orphans))
  return { next: `${last.configuration}:${last.messageId}`, counts: { texts } }
}

function placeOf(text: string): JobPlace {
  const at = text.indexOf(':')
  return { configuration: text.slice(0, at), messageId: text.slice(at + 1) }
}
