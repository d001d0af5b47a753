/** Stand-ins for messaging and webhook on a real NATS, because a service's tests never start another service. */
import { setMailbox, setSuspension as setMailboxSuspension } from '@svc/contracts/messaging.ts'
import type { SuspensionChange } from '@svc/contracts/suspension.ts'
import { closeWebhook, setSuspension as setWebhookSuspension } from '@svc/contracts/webhook.ts'
import { handle } from '@svc/nats/serve.ts'
import { type Peer, startPeer } from '@svc/test/support/stand-ins/peer.ts'

export interface MessagingPeer extends Peer {
  /** The mailbox of each agent at its highest version. */
  readonly mailboxes: ReadonlyMap<string, { policy: string; revoked: boolean; version: number }>
  /** The suspension of each agent at its highest version. */
  readonly suspensions: ReadonlyMap<string, SuspensionChange>
  /** Every push, in the order of arrival. */
  readonly pushes: readonly { agent_id: string; version: number }[]
  /** Called with each push before the answer. An error that it throws becomes the answer. */
  beforeAnswer: (agentId: string) => Promise<void> | void
}

export async function startMessagingPeer(natsUrl: string): Promise<MessagingPeer> {
  const mailboxes = new Map<string, { policy: string; revoked: boolean; version: number }>()
  const suspensions = new Map<string, SuspensionChange>()
  const pushes: { agent_id: string; version: number }[] = []
  const peer = await startPeer(natsUrl, 'messaging', [
    handle(setMailbox, async ({ agent_id, policy, revoked, version }) => {
      pushes.push({ agent_id, version })
      await self.beforeAnswer(agent_id)
      if (version > (mailboxes.get(agent_id)?.version ?? 0)) mailboxes.set(agent_id, { policy, revoked, version })
      return {}
    }),
    handle(setMailboxSuspension, async (change) => note(suspensions, change)),
  ])
  const self: MessagingPeer = { ...peer, mailboxes, suspensions, pushes, beforeAnswer: () => {} }
  return self
}

export interface WebhookPeer extends Peer {
  /** Every agent whose webhook was closed, in the order of arrival. */
  readonly closed: readonly string[]
  /** The suspension of each agent at its highest version. */
  readonly suspensions: ReadonlyMap<string, SuspensionChange>
}

export async function startWebhookPeer(natsUrl: string): Promise<WebhookPeer> {
  const closed: string[] = []
  const suspensions = new Map<string, SuspensionChange>()
  const peer = await startPeer(natsUrl, 'webhook', [
    handle(closeWebhook, async ({ agent_id }) => {
      closed.push(agent_id)
      return {}
    }),
    handle(setWebhookSuspension, async (change) => note(suspensions, change)),
  ])
  return { ...peer, closed, suspensions }
}

function note(suspensions: Map<string, SuspensionChange>, change: SuspensionChange): Record<string, never> {
  if (change.version > (suspensions.get(change.agent_id)?.version ?? 0)) suspensions.set(change.agent_id, change)
  return {}
}
