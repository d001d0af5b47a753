import type { CallContext } from '@svc/contracts/define.ts'
import { setMailbox } from '@svc/contracts/messaging.ts'
import { failpoint } from '@svc/failpoints/failpoint.ts'
import type { IdentityDeps } from '../deps.ts'
import { type Mailbox, markPushed } from '../store/agents.ts'

/**
 * Tells messaging the policy and revocation of an agent's mailbox, and records the confirmed version. Pushes of one
 * agent may be repeated or reordered: messaging keeps the highest version.
 * @throws ServiceError `unavailable` if the outcome is unknown; the `push-mailboxes` loop then retries.
 */
export async function pushMailbox(
  { bus, database }: Pick<IdentityDeps, 'bus' | 'database'>,
  { agent_id, inbox_policy, revoked, mailbox_version }: Mailbox,
  context: CallContext,
): Promise<void> {
  await bus.call(setMailbox, { agent_id, policy: inbox_policy, revoked, version: mailbox_version }, context)
  failpoint('identity.mailbox.pushed')
  await database.run((sql) => markPushed(sql, agent_id, mailbox_version))
}
