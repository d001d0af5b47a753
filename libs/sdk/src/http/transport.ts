import { signRequest } from '@svc/svc1/sign.ts'
import { AnswerError, ApiError, NetworkError } from '../errors.ts'
import type { AgentKey } from '../keys.ts'
import { parseAnswer } from './answer-json.ts'
import { errorOf, type Shape } from './answers.ts'
import type { Clock } from './clock.ts'
import { delayBeforeRetry, type RetryPolicy } from './retry.ts'

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
  /** Epoch milliseconds by this machine's clock. */
  readonly nowMs: () => number
  readonly sleep: (ms: number, signal: AbortSignal | undefined) => Promise<void>
  /** Uniform in [0, 1). */
  readonly random: () => number
}

export type Transport = <T>(operation: Operation<T>, signal?: AbortSignal) => Promise<Answer<T>>

/** The largest answer that is read, several times the largest page, so that a hostile server cannot fill the memory. */
const MAX_ANSWER_BYTES = 8 * 1024 * 1024
/** The most corrections of the clock in one call. One correction is enough, unless somebody sets a clock meanwhile. */
const MAX_CORRECTIONS = 2

const encoder = new TextEncoder()

/**
 * Performs operations: signs each request anew, corrects the clock by the `Date` of answers, and retries transient
 * failures. The returned function throws ApiError, NetworkError, AnswerError or the signal's reason. It throws
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
        const mayRepeat = operation.repeatable !== false || isCode(failure, 'rate_limited')
        const delayMs = mayRepeat ? delayBeforeRetry(failure, attempts, retry, random) : undefined
        if (delayMs === undefined) throw failure
        outcomeUnknown ||= isUnknownOutcome(failure)
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
 * @param signal also aborts the body.
 */
export function createStreamOpener(
  options: TransportOptions,
): (operation: StreamOperation, signal: AbortSignal) => Promise<Response> {
  return async ({ path, query = {}, accept }, signal) => {
    const operation = { method: 'GET', path, query, signed: true, shape: (value: unknown) => value } as const
    const url = urlOf(options.origin, operation)
    const authority = await authorityOf(options, signal)
    const headers = new Headers(signatureOf(options, operation, { url, body: undefined, authority }))
    headers.set('accept', accept)
    const response = await fetchAnswer(options, url, { method: 'GET', headers }, signal)
    if (response.status === 200) return response
    try {
      readAnswer(operation, response, await readText(response))
    } catch (failure) {
      if (failure instanceof ApiError || failure instanceof AnswerError) throw failure
      throw new NetworkError(`no answer from ${url.origin}: ${reasonOf(failure)}`, { cause: failure })
    }
    throw answerError(operation, response, 'a stream must begin with status 200')
  }
}

/** Waits for the head of an answer for at most `timeoutMs`. The body may take longer. */
async function fetchAnswer(
  { clock, nowMs, fetch, timeoutMs }: TransportOptions,
  url: URL,
  init: RequestInit,
  signal: AbortSignal,
): Promise<Response> {
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(new DOMException('timed out', 'TimeoutError')), timeoutMs)
  const sentMs = nowMs()
  try {
    const response = await fetch(url, {
      ...init,
      signal: AbortSignal.any([signal, late.signal]),
      redirect: 'error',
      cache: 'no-store',
      credentials: 'omit',
    })
    clock.observe(response.headers.get('date'), sentMs, nowMs())
    return response
  } catch (cause) {
    throw new NetworkError(`no answer from ${url.origin}: ${reasonOf(cause)}`, { cause })
  } finally {
    clearTimeout(timer)
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
  { url, body, authority }: Target,
  signal: AbortSignal | undefined,
): Promise<Answer<T>> {
  const { clock, nowMs } = options
  const headers = new Headers(authority === undefined ? {} : signatureOf(options, operation, { url, body, authority }))
  headers.set('accept', 'application/json')
  if (body !== undefined) headers.set('content-type', 'application/json')
  const timeout = AbortSignal.timeout(options.timeoutMs)
  const sentMs = nowMs()
  let response: Response
  let text: string
  try {
    response = await options.fetch(url, {
      method: operation.method,
      headers,
      ...(body === undefined ? {} : { body }),
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
      // A signature is valid for one target only, so a redirect is not followed. A cached answer would have an old `Date`.
      redirect: 'error',
      cache: 'no-store',
      credentials: 'omit',
    })
    clock.observe(response.headers.get('date'), sentMs, nowMs())
    text = await readText(response)
  } catch (cause) {
    if (cause instanceof AnswerError) throw cause
    throw new NetworkError(`no answer from ${url.origin}: ${reasonOf(cause)}`, { cause })
  }
  return { value: readAnswer(operation, response, text), headers: response.headers }
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

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  if (response.body === null) return text
  const reader = response.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.length
    if (bytes > MAX_ANSWER_BYTES) {
      await reader.cancel()
      throw new AnswerError(`the answer is larger than ${MAX_ANSWER_BYTES} bytes`, describe(response))
    }
    text += decoder.decode(value, { stream: true })
  }
}

function readAnswer<T>(operation: Operation<T>, response: Response, text: string): T {
  const value = parseAnswer(text)
  if (response.ok || response.status === operation.alsoStatus) {
    try {
      return operation.shape(value)
    } catch (cause) {
      // `alsoStatus` can also come with an error of the API. A body of another shape is read as an error below.
      if (response.ok) throw answerError(operation, response, (cause as Error).message, cause)
    }
  }
  const error = errorOf(value)
  if (error === undefined) throw answerError(operation, response, 'its body is not an error of this API')
  throw new ApiError({ ...error, ...describe(response), retryAfterSeconds: retryAfterOf(response) })
}

function answerError<T>(operation: Operation<T>, response: Response, problem: string, cause?: unknown): AnswerError {
  const what = `${operation.method} ${operation.path} answered ${response.status}, but ${problem}`
  return new AnswerError(what, { ...describe(response), cause })
}

function describe(response: Response): { status: number; requestId: string | undefined } {
  return { status: response.status, requestId: response.headers.get('x-request-id') ?? undefined }
}

/** Whole seconds. The service never sends a date in Retry-After. */
function retryAfterOf(response: Response): number | undefined {
  const value = response.headers.get('retry-after')
  return value !== null && /^\d{1,9}$/.test(value) ? Number(value) : undefined
}

/** `fetch` says only "fetch failed". On some platforms, its cause has the reason. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'TimeoutError') return 'timed out'
  const { cause } = error
  if (!(cause instanceof Error)) return error.message
  // OpenSSL's own message is a line of its source, with numbers.
  if ('reason' in cause && typeof cause.reason === 'string') return cause.reason
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : ''
  return cause.message === '' ? code : cause.message
}

function isCode(failure: unknown, code: string): boolean {
  return failure instanceof ApiError && failure.code === code
}

/** A refusal below 500 is certain. After a lost answer or a 5xx the outcome is unknown (spec 3.17, 13.2). */
function isUnknownOutcome(failure: unknown): boolean {
  return !(failure instanceof ApiError) || failure.status >= 500
}
