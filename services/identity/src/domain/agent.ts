import type { Agent, Identity, InboxPolicy } from '@svc/contracts/resources.ts'

/** Everything that identity knows of an agent, as a row of `identity.agents`. */
export interface AgentRecord extends Agent {
  readonly inbox_policy: InboxPolicy
  readonly discoverable: boolean
  /** Raised by every change of what messaging has to know. 0: nothing but the defaults. */
  readonly mailbox_version: number
  /** The highest version that messaging has confirmed. */
  readonly mailbox_pushed: number
}

/** What anybody may see of an agent. */
export function publicAgent({ agent_id, name, pubkey, created_at, revoked }: AgentRecord): Agent {
  return { agent_id, name, pubkey, created_at, revoked }
}

/** What the agent itself sees. Source: spec 5.10. */
export function ownIdentity(record: AgentRecord, authority: string): Identity {
  return {
    agent: publicAgent(record),
    address: addressOf(record.name, authority),
    inbox_policy: record.inbox_policy,
    discoverable: record.discoverable,
  }
}

/** An agent's address is `<name>@<authority>` (spec 2.8). */
export function addressOf(name: string, authority: string): string {
  return `${name}@${authority}`
}
