import type { Agent, Identity, InboxPolicy } from '@svc/contracts/resources.ts'

/** All that identity stores about an agent: a row of `identity.agents`. */
export interface AgentRecord extends Agent {
  readonly inbox_policy: InboxPolicy
  readonly discoverable: boolean
  /** Rises with every change that messaging must know. 0 means that all settings still have their defaults. */
  readonly mailbox_version: number
  /** The highest version that messaging has confirmed. */
  readonly mailbox_pushed: number
}

/** The part of an agent that everybody may see. */
export function publicAgent({ agent_id, name, pubkey, created_at, revoked }: AgentRecord): Agent {
  return { agent_id, name, pubkey, created_at, revoked }
}

/** The part of an agent that the agent itself may see (spec 5.10). */
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
