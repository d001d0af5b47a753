import { randomUUID } from 'node:crypto'
import { headers, type JetStreamClient, type JetStreamManager, type MsgHdrs, type NatsConnection } from 'nats'
import type { Nats } from './connect.ts'
import { ensureStream, type StreamDefinition } from './streams.ts'

export interface Publication {
  subject: string
  /** `Nats-Msg-Id`: what the stream recognizes a repeat by. */
  messageId: string
  text: string
}

/** What a stream says of itself. */
export interface StreamState {
  /** Its creation time: another one is another stream, which has forgotten everything. */
  epoch: string
  lastSequence: number
}

/** JetStream takes at most this many messages in one atomic batch. */
export const MAX_BATCH_MESSAGES = 1_000
const ACK_TIMEOUT_MS = 5_000
/** Publications without a batch that wait for their acknowledgement at once. */
const MAX_UNACKED = 64

/** Publishes to one JetStream stream. */
export class StreamPublisher {
  readonly #connection: NatsConnection
  readonly #manager: JetStreamManager
  readonly #client: JetStreamClient
  readonly #definition: StreamDefinition

  private constructor(connection: NatsConnection, manager: JetStreamManager, definition: StreamDefinition) {
    this.#connection = connection
    this.#manager = manager
    this.#client = connection.jetstream({ timeout: ACK_TIMEOUT_MS })
    this.#definition = definition
  }

  static async open({ connection }: Nats, definition: StreamDefinition): Promise<StreamPublisher> {
    return new StreamPublisher(connection, await connection.jetstreamManager({ checkAPI: false }), definition)
  }

  /** Calls back whenever the connection is lost: what the server knows afterwards may be less than it acknowledged. */
  async watchDisconnects(onDisconnect: () => void): Promise<void> {
    for await (const status of this.#connection.status()) if (status.type === 'disconnect') onDisconnect()
  }

  /** The stream's state; makes the stream where it is not there. */
  async state(): Promise<StreamState> {
    const info = await ensureStream(this.#manager, this.#definition)
    return { epoch: info.created, lastSequence: info.state.last_seq }
  }

  /**
   * Publishes all or none, with one acknowledgement. For what was never tried before: a message that the stream has
   * seen within its window of duplicates makes it refuse the whole.
   * @param publications 1 to `MAX_BATCH_MESSAGES`.
   * @returns the sequence of the last; those before it are contiguous.
   */
  async publishTogether(publications: Publication[]): Promise<number> {
    const last = publications.at(-1)
    if (last === undefined) throw new RangeError('nothing to publish')
    if (publications.length === 1) return this.#publishOne(last)
    const batch = randomUUID()
    publications.slice(0, -1).forEach((publication, index) => {
      const fields = batchHeaders(publication, batch, index + 1)
      this.#connection.publish(publication.subject, publication.text, { headers: fields })
    })
    const commit = batchHeaders(last, batch, publications.length)
    commit.set('Nats-Batch-Commit', '1')
    return (await this.#client.publish(last.subject, last.text, { headers: commit })).seq
  }

  /** Publishes what may have been published before; what the stream remembers is not stored twice. @returns a sequence for each. */
  async publishAgain(publications: Publication[]): Promise<number[]> {
    const sequences: number[] = []
    for (let from = 0; from < publications.length; from += MAX_UNACKED) {
      const together = publications.slice(from, from + MAX_UNACKED)
      sequences.push(...(await Promise.all(together.map((publication) => this.#publishOne(publication)))))
    }
    return sequences
  }

  async #publishOne({ subject, messageId, text }: Publication): Promise<number> {
    return (await this.#client.publish(subject, text, { msgID: messageId })).seq
  }
}

/** The headers of an atomic batch publication (NATS 2.12 and later). */
function batchHeaders({ messageId }: Publication, batch: string, sequence: number): MsgHdrs {
  const fields = headers()
  fields.set('Nats-Msg-Id', messageId)
  fields.set('Nats-Batch-Id', batch)
  fields.set('Nats-Batch-Sequence', String(sequence))
  return fields
}
