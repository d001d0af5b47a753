import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Envelope } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import type { Cipher } from './cipher.ts'
import { makeFolder, readIfThere, removeOldest } from './files.ts'

/** A message that this agent composed. */
export interface SentRecord {
  readonly envelope: Envelope
  /** The plaintext, because the sender of a sealed envelope cannot open it. */
  readonly body: JsonValue
  /** Hash of the caller's request. A request with this id and another fingerprint is a conflict. */
  readonly fingerprint: string
  /** Unix seconds. */
  readonly composedAt: number
  /** The agent's last event cursor before the message was sent. A reply has a later cursor. */
  readonly after?: number
}

const DAY_SECONDS = 86_400
/** A client repeats a lost call within this time, also if the message lives shorter. */
const REPEAT_SECONDS = 600
interface SentBounds {
  /** By default a service keeps messages for 30 days. */
  readonly days: number
  readonly messages: number
  readonly bytes: number
}

export const SENT_BOUNDS: SentBounds = { days: 90, messages: 10_000, bytes: 64 * 1024 * 1024 }
/** The bounds are checked after this many saves. */
const SAVES = 100

/**
 * Messages that this agent composed. Each message has its own encrypted file, so processes do not overwrite each other's
 * messages. Beyond the bounds the oldest files are removed. Their plaintext is then lost, even for this agent.
 */
export class SentStore {
  readonly #sent: string
  readonly #recent: string
  readonly #cipher: Cipher
  readonly #bounds: SentBounds
  #saves = 0

  constructor(folder: string, cipher: Cipher, bounds: SentBounds = SENT_BOUNDS) {
    this.#sent = join(folder, 'sent')
    this.#recent = join(folder, 'recent')
    this.#cipher = cipher
    this.#bounds = bounds
    makeFolder(this.#sent)
    makeFolder(this.#recent)
    this.#prune()
  }

  find(id: string): SentRecord | undefined {
    // The file name is a hash, because some file systems do not distinguish upper and lower case.
    const name = fileOf(id)
    const content = readIfThere(join(this.#sent, name))
    const text = content === undefined ? undefined : this.#cipher.decrypt(`sent/${name}`, content)
    return text === undefined ? undefined : (JSON.parse(text) as SentRecord)
  }

  save(record: SentRecord): void {
    const { id } = record.envelope
    const name = fileOf(id)
    writeDurably(join(this.#sent, name), this.#cipher.encrypt(`sent/${name}`, JSON.stringify(record)))
    writeDurably(join(this.#recent, fileOf(record.fingerprint)), id)
    this.#saves += 1
    if (this.#saves % SAVES === 0) this.#prune()
  }

  /** The last message with this fingerprint, if it was composed within a day and has not expired. For ten minutes also if it has. */
  findRecent(fingerprint: string, nowSeconds: number): SentRecord | undefined {
    const id = readIfThere(join(this.#recent, fileOf(fingerprint)))?.toString('utf8') ?? ''
    const record = id === '' ? undefined : this.find(id)
    if (record === undefined) return undefined
    const { composedAt, envelope } = record
    const seconds = Math.max(REPEAT_SECONDS, Math.min(DAY_SECONDS, envelope.ttl || DAY_SECONDS))
    return nowSeconds - composedAt < seconds ? record : undefined
  }

  #prune(): void {
    const { messages: files, bytes, days } = this.#bounds
    removeOldest(this.#sent, { files, bytes, seconds: days * DAY_SECONDS })
    removeOldest(this.#recent, { files, bytes, seconds: DAY_SECONDS })
  }
}

function fileOf(text: string): string {
  return hash('sha256', text).slice(0, 40)
}
