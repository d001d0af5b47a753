/**
 * Events as they arrive. All tabs of this browser that show one agent share one stream, because an agent may have only two and
 * may hold one itself. One tab leads: it holds the stream and tells the others. When it dies, another one leads.
 */
import { type ReadonlySignal, signal } from '@preact/signals'
import type { Event } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk'
import { isCode } from '@svc/sdk/errors.ts'
import { type LiveMessage, openChannel } from './channel.ts'
import { type LiveState, lead } from './leader.ts'
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
}

/** A tab that missed something and could not read it tries again after this time. */
const CATCH_UP_AGAIN_MS = 3_000

/** Follows the events of one agent. Dispose it when the agent or the vault is closed. */
export class Live implements Disposable {
  readonly #state = signal<LiveState>('catching_up')
  readonly #stopping = new AbortController()
  readonly #channel: ReturnType<typeof openChannel>
  readonly #reader: Reader
  #isLeading = false
  readonly state: ReadonlySignal<LiveState> = this.#state

  constructor({ client, agentId, after, onEvent, onCursor }: LiveOptions) {
    const name = `svc-console/live/${agentId}`
    const { signal } = this.#stopping
    this.#channel = openChannel(name, (message) => this.#onMessage(message))
    this.#reader = new Reader({
      client,
      after,
      signal,
      onEvent,
      onMoved: (moved) => {
        onCursor(moved.cursor)
        if (this.#isLeading) this.#channel.tell({ kind: 'moved', ...moved })
      },
    })
    // The browser frees the lock however this tab ends. The next tab in the queue then leads.
    navigator.locks
      .request(name, { signal }, () => {
        this.#isLeading = true
        return lead({ client, reader: this.#reader, signal, onState: (state) => this.#showState(state) })
      })
      .catch((error: unknown) => this.#stop(error))
    this.#channel.tell({ kind: 'hello' })
  }

  [Symbol.dispose](): void {
    this.#stopping.abort(new Error('the agent was closed'))
    this.#channel[Symbol.dispose]()
  }

  #showState(next: LiveState): void {
    this.#state.value = next
    if (this.#isLeading) this.#tellState()
  }

  #tellState(): void {
    this.#channel.tell({ kind: 'state', state: this.#state.value, cursor: this.#reader.cursor })
  }

  #stop(cause: unknown): void {
    if (this.#stopping.signal.aborted) return
    this.#showState('stopped')
    this.#stopping.abort(cause)
  }

  #onMessage(message: LiveMessage): void {
    const reader = this.#reader
    if (this.#isLeading) {
      if (message.kind === 'hello') this.#tellState()
    } else if (message.kind === 'state') {
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
