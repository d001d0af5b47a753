/**
 * Events as they arrive. All tabs of this browser that show one agent share one stream, because an agent may have only two and
 * may hold one itself. One tab leads: it holds the stream and tells the others. When it dies, another one leads.
 */

import type { ReadonlySignal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk'

/**
 * - `catching_up`: events that arrived meanwhile are being read.
 * - `live`: events appear as they arrive.
 * - `polling`: the agent has two streams elsewhere (`stream_limit`), so events are asked for every few seconds.
 * - `offline`: the service cannot be reached. Retried with backoff, and at once when the browser is online again.
 * - `stopped`: a retry cannot help. `failure` says why, for example `signer_revoked`.
 */
export type LiveState = 'catching_up' | 'live' | 'polling' | 'offline' | 'stopped'

export interface LiveOptions {
  readonly client: AgentClient
  readonly agentId: string
  /** Cursor of the last event that the views know. `client.latestCursor()`, asked before the lists are read, loses nothing. */
  readonly after: number
  /** Called for each event after `after`, in order, each once. */
  readonly onEvent: (event: Event) => void
  /** Every event up to this cursor was given to `onEvent`, or is not visible to this agent. */
  readonly onCursor?: (cursor: number) => void
  /** Events between the two cursors are gone. Read the lists again. Events after the gap follow. */
  readonly onGap?: (gap: { readonly after: number; readonly earliest: number }) => void
}

export interface Live extends Disposable {
  readonly state: ReadonlySignal<LiveState>
  /** Why the state is `stopped`. */
  readonly failure: ReadonlySignal<unknown>
  /** Cursor of the last event given to `onEvent`, or skipped. */
  readonly cursor: ReadonlySignal<number>
}

/** Begins to follow the events of one agent. Dispose it when the agent or the vault is closed. */
export type StartLive = (options: LiveOptions) => Live
