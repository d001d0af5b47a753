import type { CallContext } from '@svc/contracts/define.ts'
import type { Recipient } from '@svc/contracts/messaging.ts'
import type { Address } from '@svc/envelope/address.ts'
import type { Directory } from './directory.ts'
import { isSameAuthority } from './domain/authority.ts'

/** Turns the `to` of an envelope into whom messaging knows (spec 6.2). */
export interface Recipients {
  /**
   * That nobody has the name, that the authority is another's, or that there is no such board, is for messaging to answer: an
   * identical retry, a conflict and the time window come before it (spec 7.2). @throws ServiceError `unavailable`.
   */
  resolve(to: Address, context: CallContext): Promise<Recipient>
}

export function createRecipients({ directory, authority }: { directory: Directory; authority: string }): Recipients {
  return {
    async resolve(to, context) {
      if (to.kind === 'board') return { kind: 'board', id: to.boardId }
      if (!isSameAuthority(to.authority, authority)) return { kind: 'foreign' }
      const id = await directory.findAgentId(to.name, context)
      return id === undefined ? { kind: 'unknown' } : { kind: 'agent', id }
    },
  }
}
