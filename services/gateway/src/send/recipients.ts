import type { CallContext } from '@svc/contracts/define.ts'
import type { Recipient } from '@svc/contracts/messaging.ts'
import type { Address } from '@svc/envelope/address.ts'
import type { Directory } from '../auth/directory.ts'
import { isSameAuthority } from './authority.ts'

/** Resolves the `to` of an envelope to a recipient that messaging knows (spec 6.2). */
export interface Recipients {
  /**
   * Does not refuse an unknown name, a foreign authority or a missing board. Messaging does that, because it must first check
   * for an identical retry, a conflict and the time window (spec 7.2). @throws ServiceError `unavailable`.
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
