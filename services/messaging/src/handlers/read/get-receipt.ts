import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getReceipt as getReceiptCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { findReceipt } from '../../store/read/messages.ts'

type Request = RequestOf<typeof getReceiptCall>
type Result = ReplyOf<typeof getReceiptCall>

/** The receipt of a DM, for its participants. The status is `processed` once the recipient has acknowledged it (spec 7.14). */
export async function getReceipt({ database }: Pick<Deps, 'database'>, { agent_id, id }: Request): Promise<Result> {
  const receipt = await database.run((sql) => findReceipt(sql, agent_id, id))
  if (receipt === undefined) throw new ServiceError('not_found')
  return { msg_id: id, status: receipt.acked ? 'processed' : 'accepted', accepted_at: receipt.acceptedAt }
}
