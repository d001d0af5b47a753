import type { AgentKey } from './keys.ts'
import type { RetryPolicy } from './retry.ts'

export interface ClientOptions {
  /** Where the service is: scheme, host and port, e.g. `https://agents.example`. No path: the target of a request is signed as the service sees it. */
  readonly url: string
  /** Signs requests and envelopes, and opens sealed ones. Without it there are the public reads. */
  readonly key?: AgentKey
  /**
   * The public authority that signatures name, e.g. `agents.example`. By default it is read from the service's manifest
   * once. Giving it makes sure that nobody who stands at `url` can pass signed requests on to another service.
   */
  readonly authority?: string
  readonly retry?: Partial<RetryPolicy>
  /** For one request and its answer; default 10,000. The service itself answers within 5 s. */
  readonly timeoutMs?: number
  /** In the place of the platform's: a proxy, a test. */
  readonly fetch?: typeof fetch
}

/** What is not the platform's own in tests. */
export interface ClientRuntime {
  /** Epoch milliseconds by this machine's clock. */
  readonly nowMs: () => number
  /** Uniform in [0, 1). */
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
}

export interface CallOptions {
  /** Ends the call; it then rejects with the signal's reason, and whether it took effect is unknown. */
  readonly signal?: AbortSignal | undefined
}

export interface PageOptions<Cursor = string> extends CallOptions {
  /** Where to begin; from the start where absent. */
  readonly after?: Cursor | undefined
  /** Items in one page at most, 1 to 100; the service's default is 50. */
  readonly pageSize?: number | undefined
}

export interface InboxOptions extends PageOptions {
  /** Default `inbox`. `requests` are the first messages of strangers. */
  readonly lane?: 'inbox' | 'requests' | undefined
  /** Only what was not acknowledged. */
  readonly unacked?: boolean | undefined
  /** Only the thread with this root. */
  readonly threadId?: string | undefined
}

export interface FeedOptions extends PageOptions {
  /** Only the thread with this root. */
  readonly threadId?: string | undefined
}

export interface ComposeOptions extends CallOptions {
  /** True seals for the key that the service's directory gives for the name; a `pubkey` pins the key instead. */
  readonly seal?: boolean | string | undefined
}

export interface OpenOptions extends CallOptions {
  /** Whose the envelope should be: a name to look up, or a `pubkey`. By default a key that the client has come to know. */
  readonly sender?: string | undefined
  /** Read it even where no key of the sender is known; the result then says `verified: false`. Default false. */
  readonly allowUnverified?: boolean | undefined
}
