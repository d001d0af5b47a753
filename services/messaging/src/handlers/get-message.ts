import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getMessage as getMessageCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../deps.ts'
import { textOfRow } from '../domain/pages.ts'
import { findMessage } from '../store/messages.ts'

type Request = RequestOf<typeof getMessageCall>
type Result = ReplyOf<typeof getMessageCall>

/** One DM, for its participants alone: all others, and nobody, get the same 404 as for an unknown id (decisions 36). */
export async function getMessage({ database }: Pick<Deps, 'database'>, { viewer, id }: Request): Promise<Result> {
  const message = await database.run((sql) => findMessage(sql, viewer, id))
  if (message === undefined) throw new ServiceError('not_found')
  return { meta: {}, text: textOfRow(message) }
}
