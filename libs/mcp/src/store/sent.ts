import { hash } from 'node:crypto'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Envelope } from '@svc/contracts/resources.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { Cipher } from './cipher.ts'
import { makeFolder, readIfThere, replaceFile } from './files.ts'

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

/** Messages that this agent composed, one encrypted file each, so that processes never write to the same one. */
export interface SentStore {
  find(id: string): SentRecord | undefined
  save(record: SentRecord): void
  /** A message of the last day with this fingerprint whose caller was never told that it was accepted. */
  findUntold(fingerprint: string, nowSeconds: number): SentRecord | undefined
}

const DAY_SECONDS = 86_400

export function createSentStore(folder: string, cipher: Cipher): SentStore {
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
  return {
    find,
    save(record) {
      const { id } = record.envelope
      const name = fileOf(id)
      replaceFile(join(sent, name), cipher.encrypt(`sent/${name}`, JSON.stringify(record)))
      const marker = join(untold, fileOf(record.fingerprint))
      replaceFile(marker, record.told ? '' : id)
    },
    findUntold(fingerprint, nowSeconds) {
      const id = readIfThere(join(untold, fileOf(fingerprint)))?.toString('utf8') ?? ''
      const record = id === '' ? undefined : find(id)
      return record !== undefined && nowSeconds - record.composedAt < DAY_SECONDS ? record : undefined
    },
  }
}

/** How many messages the folder holds; for tests and people. */
export function countSent(folder: string): number {
  return readdirSync(join(folder, 'sent')).length
}

function fileOf(text: string): string {
  return hash('sha256', text).slice(0, 40)
}
