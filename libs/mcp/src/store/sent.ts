import { hash } from 'node:crypto'
import { join } from 'node:path'
import type { Envelope } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { Cipher } from './cipher.ts'
import { makeFolder, readIfThere, removeFile, removeOldest, replaceFile } from './files.ts'

/** One message that this agent composed. */
export interface SentRecord {
  readonly envelope: Envelope
  /** What the envelope says; a sealed one cannot be opened by its sender. */
  readonly body: JsonValue
  /** Of what the caller asked for: another request under the same id is another message. */
  readonly fingerprint: string
  /** Unix seconds. */
  readonly composedAt: number
  /** False until the service has accepted it and the caller was told. */
  readonly told: boolean
  /** The agent's last event when it was sent: a response can only come behind it. */
  readonly after?: number
}

/**
 * Messages that this agent composed, one encrypted file each, so that processes never write to the same one. The oldest are removed
 * past the bounds; what they said is then gone, for this agent too.
 */
export interface SentStore {
  find(id: string): SentRecord | undefined
  save(record: SentRecord): void
  /** A message of the last day with this fingerprint whose caller was never told that it was accepted. */
  findUntold(fingerprint: string, nowSeconds: number): SentRecord | undefined
}

const DAY_SECONDS = 86_400
interface SentBounds {
  /** A service keeps messages for 30 days, unless its operator chose otherwise. */
  readonly days: number
  readonly messages: number
  readonly bytes: number
}

export const SENT_BOUNDS: SentBounds = { days: 90, messages: 10_000, bytes: 64 * 1024 * 1024 }
/** Between looks at the bounds. */
const SAVES = 100

export function createSentStore(folder: string, cipher: Cipher, bounds: SentBounds = SENT_BOUNDS): SentStore {
  const sent = join(folder, 'sent')
  const untold = join(folder, 'untold')
  makeFolder(sent)
  makeFolder(untold)
  const find = (id: string): SentRecord | undefined => {
    // The name is a hash: an id that differs only in case is another file on every file system.
    const name = fileOf(id)
    const content = readIfThere(join(sent, name))
    const text = content === undefined ? undefined : cipher.decrypt(`sent/${name}`, content)
    return text === undefined ? undefined : (JSON.parse(text) as SentRecord)
  }
  let saves = 0
  const prune = (): void => {
    removeOldest(sent, { files: bounds.messages, bytes: bounds.bytes, seconds: bounds.days * DAY_SECONDS })
    removeOldest(untold, { files: bounds.messages, bytes: bounds.bytes, seconds: DAY_SECONDS })
  }
  prune()
  return {
    find,
    save(record) {
      const { id } = record.envelope
      const name = fileOf(id)
      replaceFile(join(sent, name), cipher.encrypt(`sent/${name}`, JSON.stringify(record)))
      const marker = join(untold, fileOf(record.fingerprint))
      if (record.told) removeFile(marker)
      else replaceFile(marker, id)
      saves += 1
      if (saves % SAVES === 0) prune()
    },
    findUntold(fingerprint, nowSeconds) {
      const id = readIfThere(join(untold, fileOf(fingerprint)))?.toString('utf8') ?? ''
      const record = id === '' ? undefined : find(id)
      return record !== undefined && nowSeconds - record.composedAt < DAY_SECONDS ? record : undefined
    },
  }
}

function fileOf(text: string): string {
  return hash('sha256', text).slice(0, 40)
}
