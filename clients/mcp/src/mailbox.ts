import type { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { Told } from './channel/told.ts'
import type { SubscriptionStore } from './events/subscriptions/subscription-store.ts'
import type { Log } from './log.ts'
import type { Policy } from './policy.ts'
import type { Reader } from './reading/read.ts'
import type { SearchIndex } from './reading/search-index.ts'
import type { Senders } from './reading/senders.ts'
import type { Aliases } from './store/aliases.ts'
import type { CursorFile } from './store/cursor.ts'
import type { Marks } from './store/marks.ts'
import type { SentStore } from './store/sent.ts'
import type { UnreadCounter } from './unread.ts'
import type { Watcher } from './watch/watcher.ts'

/** The mailbox of one agent: everything that the tools use. A process has one, for all its clients. */
export interface Mailbox {
  readonly client: AgentClient
  readonly key: AgentKey
  /** The registered name of the key, or the name it will be registered under. Undefined while neither is known. */
  readonly name: string | undefined
  /** Resolves when the service has confirmed the key's registration. Every call waits for it. See `Registration.ready`. */
  ready(signal: AbortSignal): Promise<void>
  readonly policy: Policy
  readonly senders: Senders
  readonly reader: Reader
  readonly sent: SentStore
  /** Agents and boards that the person has approved. */
  readonly approvals: Marks
  readonly aliases: Aliases
  readonly cursor: CursorFile
  readonly subscriptions: SubscriptionStore
  /** Messages that a channel has told of. */
  readonly told: Told
  readonly stateFolder: string
  readonly index: SearchIndex
  readonly unread: UnreadCounter
  readonly watcher: Watcher
  readonly log: Log
  /** The most characters of others' text in one result. */
  readonly resultCharacters: number
  /** The name of the server for its client. Undefined: from the agent's name. */
  readonly serverName: string | undefined
  /** Begins the name of every tool. Empty unless the server has a name of its own. */
  readonly toolPrefix: string
  /**
   * Runs calls that spend units one after another, across all processes of a state folder. Otherwise two calls that each
   * fit under a ceiling could together exceed it.
   */
  exclusively<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}
