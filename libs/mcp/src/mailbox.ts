import type { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { Log } from './log.ts'
import type { Policy } from './policy.ts'
import type { Reader } from './reading/read.ts'
import type { Senders } from './reading/senders.ts'
import type { Approvals } from './store/approvals.ts'
import type { CursorFile } from './store/cursor.ts'
import type { SearchIndex } from './store/search-index.ts'
import type { SentStore } from './store/sent.ts'
import type { UnreadCounter } from './unread.ts'
import type { Watcher } from './watch/watcher.ts'

/** One agent's mailbox: all that a tool works with. One for each process, whatever the number of clients. */
export interface Mailbox {
  readonly client: AgentClient
  readonly key: AgentKey
  /** The name that the key is registered under, or is to be; undefined while neither is known. */
  readonly name: string | undefined
  /** Resolves when the service has said who this is, before anything else is asked of it. Rejects as `Registration.ready`. */
  ready(signal: AbortSignal): Promise<void>
  readonly policy: Policy
  readonly senders: Senders
  readonly reader: Reader
  readonly sent: SentStore
  readonly approvals: Approvals
  readonly cursor: CursorFile
  readonly index: SearchIndex
  readonly unread: UnreadCounter
  readonly watcher: Watcher
  readonly log: Log
  /** Characters of text of others in one result at most. */
  readonly resultCharacters: number
  /** Runs one after the other what spends, in all processes of a state folder, so that two calls cannot both fit under one ceiling. */
  exclusively<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T>
}
