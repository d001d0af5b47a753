import type { ReadonlySignal } from '@preact/signals'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { AgentStore } from '../../vault/agent-store.ts'

/** An unlocked agent, with everything that the parts of its state need. */
export interface AgentContext {
  readonly client: AgentClient
  readonly key: AgentKey
  /** Encrypted records of this agent in this browser. */
  readonly store: AgentStore
  /** Undefined until the agent is registered. */
  readonly name: ReadonlySignal<string | undefined>
  /** The service's authority, in the addresses of its agents. Undefined until the service was asked. */
  readonly authority: ReadonlySignal<string | undefined>
  /** Aborted when the vault is locked or the agent is removed. */
  readonly ended: AbortSignal
}
