import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { getIdentity as getIdentityCall } from '@svc/contracts/identity.ts'
import type { IdentityDeps } from '../deps.ts'
import { ownIdentity } from '../domain/agent.ts'

/** The caller's own identity. */
export async function getIdentity(
  { readers, authority }: Pick<IdentityDeps, 'readers' | 'authority'>,
  { agent_id }: RequestOf<typeof getIdentityCall>,
): Promise<ReplyOf<typeof getIdentityCall>> {
  const record = await readers.byId(agent_id)
  if (record === undefined) throw new ServiceError('not_found')
  return ownIdentity(record, authority)
}
