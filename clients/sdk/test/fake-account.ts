import type { Message, WebhookState } from '@svc/contracts/resources.ts'

/** The state that the fake service keeps for an agent. */
export interface Account {
  agent_id: string
  name: string
  pubkey: string
  created_at: number
  revoked: boolean
  inbox_policy: string
  discoverable: boolean
  contacts: Map<string, string>
  used: number
  cursor: number
  events: { cursor: number; kind: string; message: Message }[]
  webhook: WebhookState | undefined
}
