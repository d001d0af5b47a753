import { randomBytes } from 'node:crypto'
import type { Envelope } from '@svc/contracts/resources.ts'
import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { Log } from '@svc/mcp/log.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, ApiError, isCode, NetworkError } from '@svc/sdk/errors.ts'
import { sleep } from '@svc/sdk/http/waiting.ts'
import { Lines } from '@svc/sdk/lines.ts'
import { postKept } from '@svc/sdk/messages/post-kept.ts'
import { delayAfter, isPassing } from '@svc/sdk/process/waits.ts'
import type { Shelf } from '@svc/sdk/store/shelf.ts'

export interface Outgoing {
  /** Name or address. */
  readonly to: string
  /** Undefined: a new one. */
  readonly id?: string | undefined
  readonly type: EnvelopeType
  readonly body: JsonValue
  readonly threadId?: string | undefined
  readonly replyTo?: string | undefined
  /** The turn of a local client that begins with this message. Its first message has the same id, and the others wait for it. */
  readonly turn?: string | undefined
  /** Waits for the end of a limit, such as used-up units. If false, a limit counts as a refusal. */
  readonly isPatient: boolean
}

export interface Kept extends Outgoing {
  readonly id: string
  readonly atMs: number
  /** The envelope of an earlier attempt, which the service may have accepted. */
  readonly envelope?: Envelope | undefined
}

interface OutboxDeps {
  readonly client: AgentClient
  readonly shelf: Shelf<Kept>
  readonly log: Log
  readonly signal: AbortSignal
  /** Called before a refused message leaves the outbox, perhaps twice. */
  readonly onRefused: (outgoing: Outgoing, error: unknown) => Promise<void>
}

const MAX_CALLS = 8

/**
 * Messages to be sent. Each is in the store before it is posted, so it is sent once, whatever happens to the process. Messages to
 * one recipient are sent in their order. A patient one that waits for new units stops only other patient ones.
 */
export class Outbox {
  readonly #deps: OutboxDeps
  readonly #lines = { patient: new Lines(MAX_CALLS), impatient: new Lines(MAX_CALLS) }
  readonly #running = new Map<string, Promise<void>>()
  #lastMs = 0

  constructor(deps: OutboxDeps) {
    this.#deps = deps
  }

  /** Continues with what an earlier process had not sent. */
  resume(): void {
    for (const [, kept] of this.#deps.shelf.entries) void this.#start(kept)
  }

  /**
   * Resolves when the messages are in the store. They stay together. One that is in the outbox already stays as it is.
   * @returns `settled` resolves when each was accepted or refused.
   */
  async add(all: readonly Outgoing[]): Promise<{ readonly settled: Promise<unknown> }> {
    const added: Kept[] = []
    for (const outgoing of all) {
      const id = outgoing.id ?? randomBytes(16).toString('base64url')
      // Messages of one millisecond keep their order.
      this.#lastMs = Math.max(Date.now(), this.#lastMs + 1)
      const kept = { ...outgoing, id, atMs: this.#lastMs }
      added.push(this.#running.has(id) ? kept : await this.#deps.shelf.put(id, kept))
    }
    return { settled: Promise.all(added.map((kept) => this.#start(kept))) }
  }

  /** Resolves when each message of the turn was accepted or refused. */
  async settled(turn: string): Promise<void> {
    const own = this.#deps.shelf.entries.filter(([, kept]) => kept.turn === turn)
    await Promise.all(own.map(([id]) => this.#running.get(id)))
  }

  #start(kept: Kept): Promise<void> {
    const { id, to, isPatient } = kept
    const lines = isPatient ? this.#lines.patient : this.#lines.impatient
    const run =
      this.#running.get(id) ?? lines.run(to, () => this.#attend(kept, lines)).finally(() => this.#running.delete(id))
    this.#running.set(id, run)
    return run
  }

  async #attend(kept: Kept, lines: Lines): Promise<void> {
    const { shelf, log, signal, onRefused } = this.#deps
    if (kept.turn !== undefined && kept.turn !== kept.id) await this.#running.get(kept.turn)
    // An earlier message of the same turn was refused.
    if (shelf.get(kept.id) === undefined) return
    try {
      try {
        await this.#send(kept, lines)
      } catch (error) {
        // Stopped: the next process sends it.
        if (signal.aborted) return
        log('message.refused', { id: kept.id, reason: (error as Error).message })
        await onRefused(kept, error)
        for (const [id, { turn }] of shelf.entries) if (turn !== undefined && turn === kept.turn) await shelf.delete(id)
      }
      await shelf.delete(kept.id)
    } catch (error) {
      // The store does not work. The next process tries again.
      log('message.kept', { id: kept.id, reason: (error as Error).message })
    }
  }

  async #send(kept: Kept, lines: Lines): Promise<void> {
    const { client, shelf, log, signal } = this.#deps
    let { envelope, threadId, replyTo, type } = kept
    const compose = async (): Promise<Envelope> => {
      const { to, body, id } = kept
      envelope = await client.compose({ to, type, body, id, threadId, replyTo }, { seal: true, signal })
      await shelf.put(kept.id, { ...kept, envelope })
      return envelope
    }
    for (let failures = 1; ; failures += 1) {
      try {
        await postKept(envelope ?? (await compose()), (one) => client.post(one, { signal }), compose)
        return
      } catch (error) {
        // Only this agent can make the id, so an earlier envelope was accepted.
        if (isCode(error, 'id_conflict')) return
        if (isCode(error, 'invalid_reference') && (threadId ?? replyTo) !== undefined) {
          // The thread, or the message that it answers, has expired.
          threadId = replyTo = envelope = undefined
          type = 'event'
          continue
        }
        if (signal.aborted || !isPassing(error) || (!kept.isPatient && !isOutage(error))) throw error
        const delayMs = delayAfter(error, failures, Math.random())
        log('message.waits', { id: kept.id, reason: (error as Error).message, seconds: Math.round(delayMs / 1_000) })
        await lines.rest(kept.to, sleep(delayMs, signal))
      }
    }
  }
}

function isOutage(error: unknown): boolean {
  return (
    error instanceof NetworkError || error instanceof AnswerError || (error instanceof ApiError && error.status >= 500)
  )
}
