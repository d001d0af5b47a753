import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Recipient } from '@svc/contracts/messaging.ts'
import { type Address, isSameAuthority, type Sender } from '@svc/envelope/address.ts'
import type { Directory } from '../auth/directory.ts'

/** Resolves the `from` and the `to` of envelopes (spec 6.2). */
export interface Participants {
  /** @throws ServiceError `sender_mismatch` if the sender is not the signer, `unavailable`. */
  checkSender(from: Sender, signer: string, context: CallContext): Promise<void>
  /**
   * The recipient as messaging knows it. Does not refuse an unknown name, a foreign authority or a missing board. Messaging
   * does that, because it must first check for an identical retry, a conflict and the time window (spec 7.2).
   * @throws ServiceError `unavailable`.
   */
  resolve(to: Address, context: CallContext): Promise<Recipient>
}

export function createParticipants({
  directory,
  authority,
}: {
  directory: Pick<Directory, 'findName' | 'findAgentId'>
  authority: string
}): Participants {
  return {
    async checkSender(from, signer, context) {
      const isSigner =
        from.kind === 'id'
          ? from.id === signer
          : isSameAuthority(from.authority, authority) && from.name === (await directory.findName(signer, context))
      if (!isSigner) throw new ServiceError('sender_mismatch')
    },
    async resolve(to, context) {
      if (to.kind === 'board') return { kind: 'board', id: to.boardId }
      if (!isSameAuthority(to.authority, authority)) return { kind: 'foreign' }
      const id = await directory.findAgentId(to.name, context)
      return id === undefined ? { kind: 'unknown' } : { kind: 'agent', id }
    },
  }
}
