/**
 * Events as they arrive. All tabs of this browser that show one agent share one stream, because an agent may have only two, and
 * its own program may use one. One tab leads: it holds the stream and tells the others. When it dies or freezes, another tab takes over.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { isCode } from '@svc/sdk/errors.ts'
import { type LiveChannel, type LiveMessage, openChannel } from './channel.ts'
import { type LiveState, lead } from './leader.ts'
import { Leadership, type Locks } from './leadership.ts'
import { Reader } from './reader.ts'

interface LiveOptions {
  readonly client: AgentClient
  readonly agentId: string
  /** Cursor of the last event that the views know. Get it by `client.latestCursor()` before the lists are read, so no event is lost. */
  readonly after: number
  /** Called for each event after `after`, in order, each once. */
  readonly onEvent: (event: Event) => void
  /** Every event up to this cursor was given to `onEvent`, or is not visible to this agent. */
  readonly onCursor: (cursor: number) => void
  /** Called if a retry cannot help: the service has refused this agent for good, e.g. because its key is revoked. */
  readonly onStopped?: (cause: unknown) => void
}

/** Parts of the browser that tests replace. */
export interface LivePlatform {
  readonly locks: Locks
  openChannel(name: string, onMessage: (message: LiveMessage) => void): LiveChannel
}

/** A tab that missed something and could not read it tries again after this time. */
const CATCH_UP_AGAIN_MS = 3_000

/** Follows the events of one agent. Dispose it when the agent or the vault is closed. */
export class Live implements Disposable {
  readonly #state = signal<LiveState>('catching_up')
  readonly #stopping = new AbortController()
  readonly #channel: LiveChannel
  readonly #reader: Reader
  readonly #leadership: Leadership
  readonly #onStopped: ((cause: unknown) => void) | undefined
  readonly state: ReadonlySignal<LiveState> = this.#state

  constructor(
    { client, agentId, after, onEvent, onCursor, onStopped }: LiveOptions,
    platform: LivePlatform = { locks: navigator.locks as Locks, openChannel },
  ) {
    const name = `svc-console/live/${agentId}`
    const { signal } = this.#stopping
    this.#onStopped = onStopped
    this.#channel = platform.openChannel(name, (message) => this.#onMessage(message))
    this.#reader = new Reader({
      client,
      after,
      signal,
      onEvent,
      onMoved: (moved) => {
        onCursor(moved.cursor)
        if (this.#leadership.isLeading) this.#channel.tell({ kind: 'moved', ...moved })
      },
    })
    this.#leadership = new Leadership({
      name,
      locks: platform.locks,
      signal,
      lead: (term) => lead({ client, reader: this.#reader, signal: term, onState: (state) => this.#showState(state) }),
      showLife: () => this.#tellState(),
      onFailure: (error) => this.#stop(error),
    })
    this.#channel.tell({ kind: 'hello' })
  }

  [Symbol.dispose](): void {
    this.#stopping.abort(new Error('the agent was closed'))
    this.#channel[Symbol.dispose]()
  }

  #showState(next: LiveState): void {
    this.#state.value = next
    if (this.#leadership.isLeading) this.#tellState()
  }

  #tellState(): void {
    this.#channel.tell({ kind: 'state', state: this.#state.value, cursor: this.#reader.cursor })
  }

  #stop(cause: unknown): void {
    if (this.#stopping.signal.aborted) return
    this.#showState('stopped')
    this.#stopping.abort(cause)
    this.#onStopped?.(cause)
  }

  #onMessage(message: LiveMessage): void {
    const reader = this.#reader
    if (this.#stopping.signal.aborted) return
    if (this.#leadership.isLeading) {
      if (message.kind === 'hello') this.#tellState()
      return
    }
    if (message.kind !== 'hello') this.#leadership.hear()
    if (message.kind === 'state') {
      // A leader that was refused for good frees the lock, so this tab will lead and learn the reason itself.
      if (message.state !== 'stopped') this.#state.value = message.state
      if (message.cursor > reader.cursor) this.#catchUp()
    } else if (message.kind === 'moved') {
      if (message.after > reader.cursor) this.#catchUp()
      else if (message.event === undefined) reader.skipTo(message.cursor)
      else reader.take(message.event)
    }
  }

  /** Reads the events that the leader announced before this tab listened. */
  #catchUp(): void {
    this.#reader.catchUp().catch((error: unknown) => {
      if (this.#stopping.signal.aborted) return
      if (isCode(error, 'signer_revoked')) this.#stop(error)
      else setTimeout(() => this.#catchUp(), CATCH_UP_AGAIN_MS)
    })
  }
}
