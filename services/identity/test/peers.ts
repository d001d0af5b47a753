/** Stand-ins for messaging and webhook on a real NATS, because a service's tests never start another service. */
import { setMailbox } from '@svc/contracts/messaging.ts'
import { closeWebhook } from '@svc/contracts/webhook.ts'
import { handle } from '@svc/nats/serve.ts'
import { type Peer, startPeer } from '@svc/test/support/stand-ins/peer.ts'

export interface MessagingPeer extends Peer {
  /** The mailbox of each agent at its highest version. */
  readonly mailboxes: ReadonlyMap<string, { policy: string; revoked: boolean; version: number }>
  /** Every push, in the order of arrival. */
  readonly pushes: readonly { agent_id: string; version: number }[]
  /** Called with each push before the answer. An error that it throws becomes the answer. */
  beforeAnswer: (agentId: string) => Promise<void> | void
}

export async function startMessagingPeer(natsUrl: string): Promise<MessagingPeer> {
  const mailboxes = new Map<string, { policy: string; revoked: boolean; version: number }>()
  const pushes: { agent_id: string; version: number }[] = []
  const peer = await startPeer(natsUrl, 'messaging', [
    handle(setMailbox, async ({ agent_id, policy, revoked, version }) => {
      pushes.push({ agent_id, version })
      await self.beforeAnswer(agent_id)
      if (version > (mailboxes.get(agent_id)?.version ?? 0)) mailboxes.set(agent_id, { policy, revoked, version })
      return {}
    }),
  ])
  const self: MessagingPeer = { ...peer, mailboxes, pushes, beforeAnswer: () => {} }
  return self
}

export interface WebhookPeer extends Peer {
  /** Every agent whose webhook was closed, in the order of arrival. */
  readonly closed: readonly string[]
}

export async function startWebhookPeer(natsUrl: string): Promise<WebhookPeer> {
  const closed: string[] = []
  const peer = await startPeer(natsUrl, 'webhook', [
    handle(closeWebhook, async ({ agent_id }) => {
      closed.push(agent_id)
      return {}
    }),
  ])
  return { ...peer, closed }
}
