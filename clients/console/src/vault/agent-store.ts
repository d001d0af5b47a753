import type { Envelope } from '@svc/contracts/resources.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import type { Cipher, Scope } from './cipher.ts'
import type { Change } from './database.ts'
import type { KeptRecords } from './kept-records.ts'

/** Private records of one agent. Every call rejects with VaultError `locked` once the vault is locked. */
export interface AgentStore {
  /** Unfinished messages, by an id that the view chooses (for example the recipient, or the message replied to). */
  readonly drafts: Records<KeptDraft>
  /**
   * Envelopes that were composed and whose answer has not arrived, by message id. Put the envelope here before the first
   * request, and delete it when the service has answered. After a failure or a reload, `client.post(envelope)` again: the
   * same envelope is accepted once and charged once.
   */
  readonly pending: Records<PendingEnvelope>
  /** Content of sealed messages that this browser sent, by message id, because their sender cannot open them. */
  readonly sent: Records<SentPlaintext>
  /** Public keys that the owner has compared, by agent id. A message that verifies against one needs no trust in the service. */
  readonly pins: Records<PinnedKey>
  /** How far the owner has read, by list: `inbox`, `requests`, `board:<id>`. Reading never acknowledges. */
  readonly read: Records<ReadMark>
  /** Small settings of the views, such as `notifications`. */
  readonly preferences: Records<unknown>
  /** What was read of the agent's history (state/mail/archive.ts), so that it is searched and shown without reading it again. */
  readonly history: Records<unknown>
  /** Texts of sealed messages, for the search (state/mail/texts.ts). */
  readonly texts: Records<KeptTexts>
  /** What the SDK keeps, such as the keys of names. */
  readonly client: Store
}

interface Records<Value> {
  get(id: string): Promise<Value | undefined>
  put(id: string, value: Value): Promise<void>
  delete(id: string): Promise<void>
  /** All records, in no order. */
  list(): Promise<{ readonly id: string; readonly value: Value }[]>
}

export interface KeptDraft {
  readonly to: string
  readonly text: string
  /** Whether `text` is JSON rather than plain text. */
  readonly isJson: boolean
  readonly isSealed: boolean
  /** Whether sending accepts the recipient as a contact. Absent: yes. */
  readonly acceptReplies?: boolean
  readonly replyTo?: string
  readonly threadId?: string
  readonly changedAtMs: number
}

export interface PendingEnvelope {
  readonly envelope: Envelope
  /** The content, which a sealed envelope does not show. */
  readonly body: unknown
  readonly composedAtMs: number
  /** Whether the recipient must be accepted as a contact first. */
  readonly acceptReplies?: boolean | undefined
  /** Whether a try may have reached the service. */
  readonly isTried?: boolean | undefined
  /** Why the service refused it, for people. Then it is not sent by itself. */
  readonly refusal?: string | undefined
}

export interface SentPlaintext {
  readonly body: unknown
  readonly to: string
  readonly sentAtMs: number
  /** Of the envelope (state/mail/digest.ts). */
  readonly digest: string
}

interface PinnedKey {
  /** `ed25519:<HEX>`. */
  readonly pubkey: string
  readonly name: string | undefined
  readonly pinnedAtMs: number
}

/** Pairs of a message id and its text. */
type KeptTexts = readonly (readonly [string, string])[]

interface ReadMark {
  /** Cursor of the last event that the owner has seen. */
  readonly cursor: number
  /** Events after it that the owner has seen too, by cursor. */
  readonly beyond?: readonly number[]
}

/** The parts of an unlocked vault that records need. */
export interface OpenVault {
  readonly cipher: Cipher
  readonly records: KeptRecords
}

const KINDS = [
  'drafts',
  'pending',
  'sent',
  'pins',
  'read',
  'preferences',
  'history',
  'texts',
  'client',
] as const satisfies (keyof AgentStore)[]

/** @param unlocked throws VaultError `locked` if the vault is no longer unlocked. */
export function createAgentStore(agentId: string, unlocked: () => OpenVault): AgentStore {
  return {
    drafts: createRecords(scopeOf(agentId, 'drafts'), unlocked),
    pending: createRecords(scopeOf(agentId, 'pending'), unlocked),
    sent: createRecords(scopeOf(agentId, 'sent'), unlocked),
    pins: createRecords(scopeOf(agentId, 'pins'), unlocked),
    read: createRecords(scopeOf(agentId, 'read'), unlocked),
    preferences: createRecords(scopeOf(agentId, 'preferences'), unlocked),
    history: createRecords(scopeOf(agentId, 'history'), unlocked, true),
    texts: createRecords(scopeOf(agentId, 'texts'), unlocked),
    client: asStore(createRecords(scopeOf(agentId, 'client'), unlocked)),
  }
}

/** The changes that delete all records of an agent. */
export function deletionsOf(agentId: string, cipher: Cipher): Promise<Change[]> {
  return Promise.all(KINDS.map(async (kind) => ({ place: await cipher.prefixOf(scopeOf(agentId, kind)) })))
}

/** @param isReplaceable whether the service has the content too. */
export function createRecords<Value>(scope: Scope, unlocked: () => OpenVault, isReplaceable = false): Records<Value> {
  // A record holds its id, because its place is only a hash of it.
  const opened = async ({ cipher }: OpenVault, place: string, record: Parameters<Cipher['open']>[1]) =>
    (await cipher.open(place, record)) as { id: string; value: Value }
  return {
    async get(id) {
      const vault = unlocked()
      const place = await vault.cipher.placeOf(scope, id)
      const record = await vault.records.read(place)
      return record === undefined ? undefined : (await opened(vault, place, record)).value
    },
    async put(id, value) {
      const { cipher, records } = unlocked()
      const place = await cipher.placeOf(scope, id)
      const record = await cipher.seal(place, { id, value })
      unlocked()
      await records.write([{ place, record, isReplaceable }])
    },
    async delete(id) {
      const { cipher, records } = unlocked()
      await records.write([{ place: await cipher.placeOf(scope, id) }])
    },
    async list() {
      const vault = unlocked()
      const found = await vault.records.list(await vault.cipher.prefixOf(scope))
      return Promise.all(found.map(({ place, record }) => opened(vault, place, record)))
    },
  }
}

function asStore({ get, put, delete: remove, list }: Records<string>): Store {
  return {
    get,
    set: put,
    delete: remove,
    keys: async (prefix) => (await list()).map(({ id }) => id).filter((id) => id.startsWith(prefix)),
  }
}

function scopeOf(agentId: string, kind: (typeof KINDS)[number]): Scope {
  return ['agent', agentId, kind]
}
