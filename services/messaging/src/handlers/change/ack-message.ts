import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { ackMessage as ackMessageCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { ackMessage as markAcked } from '../../store/read/messages.ts'

type Request = RequestOf<typeof ackMessageCall>
type Result = ReplyOf<typeof ackMessageCall>

/**
 * Acknowledges a DM for its recipient; idempotent. The sender gets `forbidden`; for everybody else the message does not
 * exist (spec 7.13).
 */
export async function ackMessage({ database }: Pick<Deps, 'database'>, { agent_id, id }: Request): Promise<Result> {
  const found = await database.run((sql) => markAcked(sql, agent_id, id))
  if (found === undefined) throw new ServiceError('not_found')
  if (!found.isRecipient) throw new ServiceError('forbidden')
  return { status: 'acked' }
}
