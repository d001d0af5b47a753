import { signRequest } from '@svc/svc1/sign.ts'
import { AnswerError, ApiError, isCode, NetworkError } from '../errors.ts'
import type { AgentKey } from '../keys.ts'
import type { Shape } from './answers.ts'
import type { Clock } from './clock.ts'
import { fetchFailure } from './fetch-failure.ts'
import { answerError, readAnswer, readText } from './read-answer.ts'
import { delayBeforeRetry, type RetryPolicy } from './retry.ts'
import { abortAfter, linkAbort } from './waiting.ts'

/** One operation of the API. All requests of a call share it. */
export interface Operation<T> {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Begins with `/`. Its variable parts are percent-encoded. */
  readonly path: string
  /** Sent in this order, without undefined values. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>
  /** A JSON value. Every retry sends the same bytes. */
  readonly body?: unknown
  /** Whether requests are signed. Public reads need no signature, so they use no nonce and do not reveal the agent. */
  readonly signed: boolean
  readonly shape: Shape<T>
  /** A status other than 2xx whose body has this shape too. */
  readonly alsoStatus?: number
  /**
   * Called with a refusal if the answer to an earlier request of the call was lost. Returns the value of the call if
   * the refusal proves that the earlier request took effect.
   */
  readonly recover?: (refusal: ApiError) => T | undefined
  /** False if a retry could perform the operation twice. It is then retried only if it certainly did not take effect. Default true. */
  readonly repeatable?: boolean
}

interface Answer<T> {
  readonly value: T
  readonly headers: Headers
}

export interface TransportOptions {
  /** Only scheme, host and port. */
  readonly origin: string
  readonly key: AgentKey | undefined
  /** The public authority that signatures name. */
  readonly authority: (signal: AbortSignal | undefined) => Promise<string>
  readonly clock: Clock
  readonly retry: RetryPolicy
  /** The timeout for one request and its answer. */
  readonly timeoutMs: number
  readonly fetch: typeof fetch
  readonly onRetry: ((failure: unknown, delayMs: number) => void) | undefined
  /** Epoch milliseconds by this machine's clock. */
  readonly nowMs: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export type Transport = <T>(operation: Operation<T>, signal?: AbortSignal) => Promise<Answer<T>>

/** The most corrections of the clock in one call. One correction is enough, unless somebody sets a clock meanwhile. */
const MAX_CORRECTIONS = 2

const encoder = new TextEncoder()

/**
 * Performs operations: signs each request anew, corrects the clock if the service refuses its time, and retries
 * transient failures. The returned function throws ApiError, NetworkError, AnswerError or the signal's reason. It throws
 * TypeError if a signed operation has no key.
 */
export function createTransport(options: TransportOptions): Transport {
  const { clock, retry, random, sleep } = options

  return async (operation, signal) => {
    const url = urlOf(options.origin, operation)
    const body = operation.body === undefined ? undefined : encoder.encode(JSON.stringify(operation.body))
    // Outside the retry loop, because it has its own retries.
    const authority = operation.signed ? await authorityOf(options, signal) : undefined
    let attempts = 0
    let corrections = 0
    let outcomeUnknown = false
    for (;;) {
      signal?.throwIfAborted()
      const { revision } = clock
      try {
        return await request(options, operation, { url, body, authority }, signal)
      } catch (failure) {
        signal?.throwIfAborted()
        const recovered = outcomeUnknown && failure instanceof ApiError ? operation.recover?.(failure) : undefined
        if (recovered !== undefined) return { value: recovered, headers: new Headers() }
        if (isCode(failure, 'timestamp_out_of_range') && clock.revision !== revision && corrections < MAX_CORRECTIONS) {
          corrections += 1
          continue
        }
        attempts += 1
        const mayRepeat = operation.repeatable !== false || isRefusedUnread(failure)
        const delayMs = mayRepeat ? delayBeforeRetry(failure, attempts, retry, random) : undefined
        if (delayMs === undefined) throw failure
        outcomeUnknown ||= isUnknownOutcome(failure)
        options.onRetry?.(failure, delayMs)
        await sleep(delayMs, signal)
      }
    }
  }
}

/** Opens a stream. Its answer does not end, so the caller reads it. */
type StreamOperation = Pick<Operation<unknown>, 'path' | 'query'> & { readonly accept: string }

/**
 * Sends one signed GET, and leaves the body to the caller. Does not retry. For any status but 200 it throws the errors
 * of `createTransport`.
 * @param connection aborts the request and the body. Aborted if the head of the answer is not there after `timeoutMs`.
 */
export function createStreamOpener(
  options: TransportOptions,
): (operation: StreamOperation, connection: AbortController) => Promise<Response> {
  return async ({ path, query = {}, accept }, connection) => {
    const operation = { method: 'GET', path, query, signed: true, shape: (value: unknown) => value } as const
    const url = urlOf(options.origin, operation)
    const authority = await authorityOf(options, connection.signal)
    const stopTimer = abortAfter(connection, options.timeoutMs)
    try {
      const { signal } = connection
      return await exchange(
        options,
        operation,
        { url, body: undefined, authority, accept, signal },
        async (response) => {
          if (response.status === 200) return response
          readAnswer(operation, response, await readText(response), options.nowMs())
          throw answerError(operation, response, 'a stream must begin with status 200', { nowMs: options.nowMs() })
        },
      )
    } finally {
      stopTimer()
    }
  }
}

interface Target {
  readonly url: URL
  readonly body: Uint8Array<ArrayBuffer> | undefined
  /** Undefined for a request that is not signed. */
  readonly authority: string | undefined
}

async function request<T>(
  options: TransportOptions,
  operation: Operation<T>,
  target: Target,
  caller: AbortSignal | undefined,
): Promise<Answer<T>> {
  const connection = new AbortController()
  const unlink = linkAbort(caller, () => connection.abort(caller?.reason))
  const stopTimer = abortAfter(connection, options.timeoutMs)
  try {
    const { signal } = connection
    return await exchange(options, operation, { ...target, accept: 'application/json', signal }, async (response) => {
      const text = await readText(response)
      return { value: readAnswer(operation, response, text, options.nowMs()), headers: response.headers }
    })
  } finally {
    unlink()
    stopTimer()
  }
}

/**
 * Sends one request and reads its answer. Uses only what every platform's `fetch` has: Cloudflare Workers, for example, throw
 * at `redirect: 'error'`, `cache` and `credentials`.
 * @throws ApiError, AnswerError, and NetworkError for everything that `fetch` and the connection throw.
 */
async function exchange<T, R>(
  options: TransportOptions,
  operation: Operation<T>,
  { url, body, authority, accept, signal }: Target & { accept: string; signal: AbortSignal },
  read: (response: Response) => Promise<R>,
): Promise<R> {
  const { clock, nowMs } = options
  const headers = new Headers(authority === undefined ? {} : signatureOf(options, operation, { url, body, authority }))
  headers.set('accept', accept)
  if (body !== undefined) headers.set('content-type', 'application/json')
  const init = { method: operation.method, headers, ...(body === undefined ? {} : { body }), signal }
  const sentMs = nowMs()
  try {
    // A signature is valid for one target only, so a redirect is not followed.
    const response = await options.fetch(url, { ...init, redirect: 'manual' })
    const receivedMs = nowMs()
    if (isRedirect(response)) {
      await response.body?.cancel()
      const problem = `redirects are not followed: use the URL of the service itself${originOfRedirect(response, url)}`
      throw answerError(operation, response, problem, { nowMs: receivedMs })
    }
    return await read(response).catch((failure: unknown) => {
      if (isCode(failure, 'timestamp_out_of_range')) clock.correct(response.headers.get('date'), sentMs, receivedMs)
      throw failure
    })
  } catch (cause) {
    if (cause instanceof AnswerError || cause instanceof ApiError) throw cause
    throw new NetworkError(`no answer from ${url.origin}: ${fetchFailure(cause, url)}`, { cause })
  }
}

/** Browsers hide the status of a redirect. React Native follows it without being asked. */
function isRedirect({ type, status, redirected }: Response): boolean {
  return type === 'opaqueredirect' || redirected || (status >= 300 && status < 400)
}

/** Only the origin, because a hostile server could write anything else into the error. */
function originOfRedirect({ headers }: Response, url: URL): string {
  try {
    const { origin } = new URL(headers.get('location') ?? '', url)
    return origin === url.origin ? '' : `, perhaps ${origin}`
  } catch {
    return ''
  }
}

function signatureOf<T>(
  { key, clock }: TransportOptions,
  operation: Operation<T>,
  { url, body, authority }: Target & { authority: string },
): Record<string, string> {
  return signRequest(needed(key), {
    authority,
    method: operation.method,
    target: url.pathname + url.search,
    body,
    timestamp: Math.floor(clock.nowMs() / 1000),
  })
}

async function authorityOf({ key, authority }: TransportOptions, signal: AbortSignal | undefined): Promise<string> {
  needed(key)
  return authority(signal)
}

function needed(key: AgentKey | undefined): AgentKey {
  if (key === undefined) throw new TypeError('this call must be signed: create the client with a key')
  return key
}

/** The request and its signature use the same URL, so their percent-encoding cannot differ. */
function urlOf<T>(origin: string, { path, query = {} }: Operation<T>): URL {
  const url = new URL(path, origin)
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) url.searchParams.append(name, String(value))
  }
  return url
}

/**
 * A refusal below 500 is certain. After a lost answer or a 5xx the outcome is unknown (spec 3.17, 13.2). So it is after
 * `nonce_replayed`: every nonce is fresh, so something on the way sent the request twice, and the first may have taken effect.
 */
function isUnknownOutcome(failure: unknown): boolean {
  if (isRefusedUnread(failure)) return false
  return !(failure instanceof ApiError) || failure.status >= 500 || failure.code === 'nonce_replayed'
}

/** Too many requests: whoever said so, the service or a proxy, did nothing with this one. */
function isRefusedUnread(failure: unknown): boolean {
  return (failure instanceof ApiError || failure instanceof AnswerError) && failure.status === 429
}
