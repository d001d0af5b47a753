import { recordErasure } from '@svc/audit/audit.ts'
import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { eraseAgent as eraseAgentCall } from '@svc/contracts/erasure.ts'
import type { Database } from '@svc/postgres/database.ts'
import { runErasure } from '@svc/postgres/report.ts'
import { eraseAgent as erase } from '../store/erase.ts'

type Call = ReturnType<typeof eraseAgentCall>

/** Takes down the boards of an agent for good, and deletes its memberships. */
export async function eraseAgent(
  { database }: { readonly database: Database },
  request: RequestOf<Call>,
): Promise<ReplyOf<Call>> {
  const counts = await runErasure(database, async (tx) => {
    const erased = await erase(tx, request.agent_id, request.tombstone)
    await recordErasure(tx, 'boards', request, erased)
    return erased
  })
  return { done: true, counts }
}
