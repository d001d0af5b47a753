/** A case of the server suite, from a case file or from code. */
import type { Agent, Caller } from '../http/agent.ts'
import type { Observe } from '../http/exchange.ts'
import type { Server } from '../http/server.ts'
import type { Operator } from '../run/operator.ts'
import type { Receiver } from '../run/receiver.ts'

/** What a black box cannot set by itself. A case that needs something that is not there is skipped. */
export const NEEDS = {
  gateways: 'a second --url: another gateway of the same service',
  operator: '--admin: the command of the operator, such as "npx svc admin"',
  receiver: '--webhook-url and --webhook-port: where the server reaches this runner',
  'small budget': 'a server with exactly 10 free units, a ceiling of 20 units and 5 introductions a day',
  'large budget': 'a server with at least 10,000 free units and 500 introductions a day',
  'short retention':
    '--retention-seconds: a server that keeps messages for at most 30 seconds, and the number of these seconds',
  'short streams': 'a server whose manifest has a stream_seconds of at most 15',
  'short backoff': '--short-backoff: a server that tries a webhook delivery again within a second (spec 10.7)',
  'default rates': '--rates: a server with the default request rates (spec 3.15), whose limits the runner may exhaust',
} as const

export type Need = keyof typeof NEEDS

export interface World {
  readonly server: Server
  /** Registers an agent under a fresh name. */
  agent(): Promise<Agent>
  /** An agent with a fresh key and name that nobody registered. */
  stranger(): Agent
  readonly anonymous: Caller
  /** Present if the case needs it. */
  readonly operator: Operator
  readonly receiver: Receiver
  readonly retentionSeconds: number
  readonly observe: Observe
  /** What is closed when the case ends, such as streams. */
  atEnd(cleanup: () => void): void
}

export interface Case {
  /** `messages/retries/an-identical-retry-is-200`: group, file and name. */
  readonly id: string
  readonly title: string
  readonly spec: readonly string[]
  readonly needs: readonly Need[]
  /** How many agents it registers, without those that its file shares. */
  readonly agents: number
  /** The agents that all cases of a file share. */
  readonly shared?: { readonly by: string; readonly agents: number }
  /** @throws Error that says what differs. */
  run(world: World): Promise<void>
}
