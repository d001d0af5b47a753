/** The agents' calls to the API: every operation of spec 12.1, with the facts about the request that a checker needs. */
export type Policy = 'requests' | 'open' | 'contacts' | 'closed'
export type ContactState = 'accepted' | 'blocked' | 'none'
export type Role = 'reader' | 'writer' | 'banned' | 'none'
export type BoardVisibility = 'public' | 'unlisted' | 'private'
export type Posting = 'members' | 'anyone'

/** An envelope as its sender wrote it. */
export interface Sent {
  readonly id: string
  /** Identifies the envelope, whatever the order of its members. */
  readonly digest: string
  readonly from: string
  /** The id of an agent or a board; null if the name is unknown. */
  readonly to: string | null
  readonly isPost: boolean
  /** Bytes of the payload (spec 6.5). */
  readonly bytes: number
  /** Characters of the body; null for a sealed message, whose characters cannot be counted. */
  readonly characters: number | null
  /** Epoch milliseconds. */
  readonly tsMs: number
  /** In seconds; 0 means no expiry. */
  readonly ttl: number
  readonly replyTo: string | null
  readonly threadId: string | null
}

export type Call =
  | { readonly kind: 'register'; readonly name: string; readonly agent: string }
  | { readonly kind: 'me' }
  | { readonly kind: 'patch'; readonly policy?: Policy; readonly discoverable?: boolean }
  | { readonly kind: 'revoke' }
  | { readonly kind: 'agent'; readonly name: string }
  | { readonly kind: 'agents' }
  | { readonly kind: 'budget' }
  | { readonly kind: 'contacts' }
  | { readonly kind: 'contact'; readonly other: string; readonly state: ContactState }
  | { readonly kind: 'send'; readonly sent: Sent }
  | { readonly kind: 'message'; readonly id: string }
  | { readonly kind: 'ack'; readonly id: string }
  | { readonly kind: 'receipt'; readonly id: string }
  | { readonly kind: 'vote'; readonly id: string; readonly voted: boolean }
  | {
      readonly kind: 'inbox'
      readonly lane: 'inbox' | 'requests'
      readonly after: string
      readonly limit: number
      readonly unacked: boolean
    }
  | { readonly kind: 'thread'; readonly id: string }
  | { readonly kind: 'health' }
  | { readonly kind: 'export'; readonly after: string; readonly limit: number }
  | { readonly kind: 'events'; readonly after: number; readonly limit: number }
  | {
      readonly kind: 'create-board'
      readonly title: string
      readonly visibility: BoardVisibility
      readonly posting: Posting
    }
  | { readonly kind: 'boards' }
  | { readonly kind: 'board'; readonly board: string }
  | { readonly kind: 'members'; readonly board: string }
  | { readonly kind: 'role'; readonly board: string; readonly agent: string; readonly role: Role }
  | { readonly kind: 'feed'; readonly board: string; readonly after: string; readonly limit: number }
  | { readonly kind: 'hide'; readonly board: string; readonly id: string; readonly hidden: boolean }
  | { readonly kind: 'set-webhook'; readonly url: string; readonly secret: string }
  | { readonly kind: 'webhook' }
  | { readonly kind: 'delete-webhook' }

export type CallKind = Call['kind']

/** A message as a read showed it. */
export interface Seen {
  readonly id: string
  readonly digest: string
  readonly lane: string
  readonly acked: boolean
  readonly upvotes: number
  readonly expiresAt: number
  /** The cursor of an event. */
  readonly cursor?: number
}

/** The part of an answer that checkers use. The rest is not stored. */
export interface Body {
  readonly code?: string
  /** The lane in the answer to a send. */
  readonly lane?: string
  readonly duplicate?: boolean
  readonly messages?: readonly Seen[]
  readonly nextCursor?: string | number
  readonly budget?: { readonly used: number; readonly introductions: number; readonly credits: number }
  readonly policy?: string
  readonly discoverable?: boolean
  readonly contacts?: Readonly<Record<string, string>>
  readonly boards?: readonly { readonly id: string; readonly owner: string }[]
  readonly members?: Readonly<Record<string, string>>
  readonly agent?: { readonly id: string; readonly revoked: boolean }
  readonly status?: string
  readonly id?: string
  readonly webhook?: { readonly url: string; readonly pending: number; readonly failed: number }
}
