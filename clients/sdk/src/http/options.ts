import type { EnvelopeType } from '@svc/envelope/envelope.ts'
import type { AgentKey } from '../keys.ts'
import type { Store } from '../store/store.ts'
import type { RetryPolicy } from './retry.ts'

export interface ClientOptions {
  /**
   * Scheme, host and port of the service, e.g. `https://agents.example`. A path is not allowed, because the signature
   * names the request target as the service sees it.
   */
  readonly url: string
  /** Signs requests and envelopes, and opens sealed envelopes. Without a key only the public reads work. */
  readonly key?: AgentKey
  /**
   * The public authority that signatures name, e.g. `agents.example`. By default it is read once from the service's
   * manifest. Set it if you do not trust the server at `url`: otherwise, that server could announce the authority of
   * another service, and pass your signed requests on to it.
   */
  readonly authority?: string
  /**
   * The name that the key is registered under. Envelopes name it as their sender, and `open` refuses messages that are
   * addressed to another agent. By default the name is the one that this client registered, or is read once from the
   * service, which could then give a wrong one.
   */
  readonly name?: string
  /** Keeps the keys of names over restarts, so that the service cannot give another key for a name. One service's only. */
  readonly store?: Store
  readonly retry?: Partial<RetryPolicy>
  /** The timeout for one request and its answer. Default 10,000. The service itself answers within 5 s. */
  readonly timeoutMs?: number
  /** Replaces the platform's `fetch`, for a proxy or a test. It gets `method`, `headers`, `body`, `signal` and `redirect: 'manual'`. */
  readonly fetch?: typeof fetch
  /** Called before the wait for a further request of a call or a stream, with the failure that caused it. */
  readonly onRetry?: (failure: unknown, delayMs: number) => void
  /** Called when the connection of a stream has ended, with the failure if it broke. */
  readonly onDisconnect?: (failure: unknown) => void
  /** Called when a stream is connected again. */
  readonly onReconnect?: () => void
  /** Told what a person should know, such as a wrong clock of this machine. Default: `console.warn`. */
  readonly warn?: (message: string) => void
}

/** Parts of the platform that tests replace. */
export interface ClientRuntime {
  /** Epoch milliseconds by this machine's clock. */
  readonly nowMs: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export interface CallOptions {
  /** Aborts the call. The call rejects with the signal's reason, and it is unknown whether it took effect. */
  readonly signal?: AbortSignal | undefined
}

export interface PageOptions<Cursor = string> extends CallOptions {
  /** The list begins after this item. Default: from the start. */
  readonly after?: Cursor | undefined
  /** The most items in one page, 1 to 100. The service's default is 50. */
  readonly pageSize?: number | undefined
}

export interface InboxOptions extends PageOptions {
  /** Default `inbox`. `requests` are the first messages of strangers. */
  readonly lane?: 'inbox' | 'requests' | undefined
  /** Only messages that are not acknowledged. */
  readonly unacked?: boolean | undefined
  /** Only the thread with this root. */
  readonly threadId?: string | undefined
}

export interface FeedOptions extends PageOptions {
  /** Only the thread with this root. */
  readonly threadId?: string | undefined
}

export interface ComposeOptions extends CallOptions {
  /** True seals for the key of the name: the pinned one, or the first answer of the service. Or give the `pubkey`. */
  readonly seal?: boolean | string | undefined
}

export interface SendOptions extends ComposeOptions {
  /** Accept the recipient as a contact first, so that its answers reach the inbox. Costs one unit the first time. Default false. */
  readonly acceptReplies?: boolean | undefined
}

export interface ReplyOptions extends CallOptions {
  /** Accept the sender as a contact first, if its message is in the lane `requests`. Costs one unit. Default false. */
  readonly accept?: boolean | undefined
  /** Default `response`. `error` tells the sender that its request failed. */
  readonly type?: EnvelopeType | undefined
  /** See `Draft`. */
  readonly ttl?: number | undefined
  readonly id?: string | undefined
  /** See `OpenOptions`. */
  readonly sender?: string | undefined
}

export interface OpenOptions extends CallOptions {
  /** The expected sender: its name, agent id or `pubkey`. Default: the sender that the envelope names. */
  readonly sender?: string | undefined
  /**
   * The address that the envelope must have: a name, an address `name@authority`, or, for a post, `board:<id>` of the board
   * that you read it from. Default: this agent's own address.
   */
  readonly to?: string | undefined
  /** Open the envelope even if no key of the sender is known. The result then has `verified: false`. Default false. */
  readonly allowUnverified?: boolean | undefined
}
