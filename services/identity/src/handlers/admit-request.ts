import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { admitRequest as admitRequestCall } from '@svc/contracts/identity.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from '../deps.ts'

/**
 * Consumes a nonce durably and says whether the signer is revoked or suspended. The signer may be unknown, as it is before its
 * registration; its nonce counts nevertheless (spec 3.7).
 */
export async function admitRequest(
  { admit }: Pick<IdentityDeps, 'admit'>,
  { agent_id, nonce }: RequestOf<typeof admitRequestCall>,
): Promise<ReplyOf<typeof admitRequestCall>> {
  const admitted = await admit({ agentId: agent_id, nonce })
  failpoint('identity.admitted')
  return admitted
}
