import type { Envelope } from '@svc/contracts/resources.ts'

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
  /** Public keys that the owner pinned, by agent id. A message that verifies against one needs no trust in the directory. */
  readonly pins: Records<PinnedKey>
  /** How far the owner has read, by list: `inbox`, `requests`, `board:<id>`. Reading never acknowledges. */
  readonly read: Records<ReadMark>
  /** Small settings of the views, such as `notifications`. */
  readonly preferences: Records<unknown>
}

export interface Records<Value> {
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
  readonly replyTo?: string
  readonly threadId?: string
  readonly changedAtMs: number
}

export interface PendingEnvelope {
  readonly envelope: Envelope
  /** The content, which a sealed envelope does not show. */
  readonly body: unknown
  readonly composedAtMs: number
}

export interface SentPlaintext {
  readonly body: unknown
  readonly to: string
  readonly sentAtMs: number
}

export interface PinnedKey {
  /** `ed25519:<HEX>`. */
  readonly pubkey: string
  readonly name: string | undefined
  readonly pinnedAtMs: number
}

export interface ReadMark {
  /** Cursor of the last event that the owner has seen. */
  readonly cursor: number
}
