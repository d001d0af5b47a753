/**
 * Events as they arrive. All tabs of this browser that show one agent share one stream, because an agent may have only two and
 * may hold one itself. One tab leads: it holds the stream and tells the others. When it dies, another one leads.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import { type AgentClient, ApiError } from '@svc/sdk'
import { type LiveMessage, openChannel } from './channel.ts'
import { type LiveState, lead } from './leader.ts'
import { createReader } from './reader.ts'

interface LiveOptions {
  readonly client: AgentClient
  readonly agentId: string
  /** Cursor of the last event that the views know. Get it by `client.latestCursor()` before the lists are read, so no event is lost. */
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

/** A tab that missed something and could not read it tries again after this time. */
const CATCH_UP_AGAIN_MS = 3_000

/** Begins to follow the events of one agent. Dispose it when the agent or the vault is closed. */
export function startLive({ client, agentId, after, onEvent, onCursor, onGap }: LiveOptions): Live {
  const state = signal<LiveState>('catching_up')
  const failure = signal<unknown>(undefined)
  const cursor = signal(after)
  const stopping = new AbortController()
  let isLeading = false

  const name = `svc-console/live/${agentId}`
  const channel = openChannel(name, onMessage)
  const reader = createReader({
    client,
    after,
    signal: stopping.signal,
    onEvent,
    onMoved(moved) {
      cursor.value = moved.cursor
      onCursor?.(moved.cursor)
      if (isLeading) channel.tell({ kind: 'moved', ...moved })
    },
    onGap: (gap) => onGap?.(gap),
  })

  // The browser frees the lock however this tab ends. The next tab in the queue then leads.
  navigator.locks
    .request(name, { signal: stopping.signal }, () => {
      isLeading = true
      return lead({ client, reader, signal: stopping.signal, onState: showState })
    })
    .catch(stop)
  channel.tell({ kind: 'hello' })

  return {
    state,
    failure,
    cursor,
    [Symbol.dispose]() {
      stopping.abort(new Error('the agent was closed'))
      channel[Symbol.dispose]()
    },
  }

  function showState(next: LiveState): void {
    state.value = next
    if (isLeading) channel.tell({ kind: 'state', state: next, cursor: reader.cursor })
  }

  function stop(cause: unknown): void {
    if (stopping.signal.aborted) return
    failure.value = cause
    showState('stopped')
    stopping.abort(cause)
  }

  function onMessage(message: LiveMessage): void {
    if (isLeading) {
      if (message.kind === 'hello') channel.tell({ kind: 'state', state: state.value, cursor: reader.cursor })
    } else if (message.kind === 'state') {
      // A leader that was refused for good frees the lock, so this tab will lead and learn the reason itself.
      if (message.state !== 'stopped') state.value = message.state
      if (message.cursor > reader.cursor) catchUp()
    } else if (message.kind === 'moved') {
      if (message.after > reader.cursor) catchUp()
      else if (message.event === undefined) reader.skipTo(message.cursor)
      else reader.take(message.event)
    }
  }

  /** Reads the events that the leader announced before this tab listened. */
  function catchUp(): void {
    reader.catchUp().catch((error: unknown) => {
      if (stopping.signal.aborted) return
      if (error instanceof ApiError && error.code === 'signer_revoked') stop(error)
      else setTimeout(catchUp, CATCH_UP_AGAIN_MS)
    })
  }
}
