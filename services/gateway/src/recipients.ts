import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { Recipient } from '@svc/contracts/messaging.ts'
import type { Address } from '@svc/envelope/address.ts'
import type { Directory } from './directory.ts'
import { isSameAuthority } from './domain/authority.ts'

/** Turns the `to` of an envelope into whom messaging knows (decisions 19). */
export interface Recipients {
  /**
   * That nobody has the name, or that the authority is another's, is for messaging to answer: an identical retry comes before it
   * (decisions 22). @throws ServiceError `not_found` for a board: there are none yet. `unavailable`.
   */
  resolve(to: Address, context: CallContext): Promise<Recipient>
}

export function createRecipients({ directory, authority }: { directory: Directory; authority: string }): Recipients {
  return {
    async resolve(to, context) {
      // TODO(#3): boards; what names none and what cannot be read are the same 404 (decisions 31).
      if (to.kind === 'board') throw new ServiceError('not_found')
      if (!isSameAuthority(to.authority, authority)) return { kind: 'foreign' }
      const id = await directory.findAgentId(to.name, context)
      return id === undefined ? { kind: 'unknown' } : { kind: 'agent', id }
    },
  }
}
