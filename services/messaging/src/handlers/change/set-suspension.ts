import type { ReplyOf, RequestOf } from '@svc/contracts/define.ts'
import type { setSuspension as setSuspensionCall } from '@svc/contracts/messaging.ts'
import type { Deps } from '../../deps.ts'
import { applySuspension } from '../../store/logs.ts'

/** Records the suspension of an agent, so that stream processes learn of it and close its streams. */
export async function setSuspension(
  { database }: Pick<Deps, 'database'>,
  change: RequestOf<typeof setSuspensionCall>,
): Promise<ReplyOf<typeof setSuspensionCall>> {
  await database.transaction((tx) => applySuspension(tx, change), change.agent_id)
  return {}
}
