/** An agent over plain HTTP. It signs with @svc/svc1 and does not use the SDK, so that neither can hide a fault of the other. */
import { randomBytes } from 'node:crypto'
import { Identity } from '@svc/conformance/http/identity.ts'
import type { UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { solveWork } from '@svc/svc1/pow.ts'
import { signRequest, type UnsignedRequest } from '@svc/svc1/sign.ts'
import { eventually } from '../eventually.ts'
import { untilAnswered } from './retrying.ts'

export interface HttpAnswer {
  status: number
  headers: Headers
  text: string
  /** The parsed body, if it is JSON. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions say what an answer must be
  body: any
}

interface CallOptions {
  /** A string is sent unchanged, an object as JSON. */
  body?: unknown
  headers?: Record<string, string>
  /** Parts of the signature to replace. */
  sign?: Partial<UnsignedRequest>
  /** Base address of a gateway other than the agent's. */
  url?: string
}

export interface Place {
  url: string
  authority: string
}

/** An anonymous call. */
export async function call(place: Place, method: string, path: string, options: CallOptions = {}): Promise<HttpAnswer> {
  const body = bodyText(options.body)
  const response = await fetch((options.url ?? place.url) + path, {
    method,
    redirect: 'manual',
    headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...options.headers },
    ...(body === undefined ? {} : { body }),
  }).catch((error: Error) => {
    // The error of `fetch` says only that it failed.
    throw new Error(`${method} ${path}: ${error.cause}`, { cause: error })
  })
  const text = await textOf(response)
  return { status: response.status, headers: response.headers, text, body: parseOrUndefined(text) }
}

/** The text of an answer. An event stream does not end, so it is closed and has no text (event-stream.ts reads streams). */
async function textOf(response: Response): Promise<string> {
  if (response.headers.get('content-type')?.startsWith('text/event-stream') !== true) return response.text()
  await response.body?.cancel()
  return ''
}

export class Agent extends Identity {
  readonly place: Place

  constructor(place: Place, name: string = `a-${randomBytes(6).toString('hex')}`, key: KeyPair = createKeyPair()) {
    super(name, key, place.authority)
    this.place = place
  }

  /** The headers of a signed request without a body. */
  sign(method: string, target: string): Record<string, string> {
    return signRequest(this.key, { authority: this.place.authority, method, target, body: undefined })
  }

  /** A signed call. */
  call(method: string, path: string, options: CallOptions = {}): Promise<HttpAnswer> {
    const body = bodyText(options.body)
    const signed = signRequest(this.key, {
      authority: this.place.authority,
      method,
      target: path,
      body: body === undefined ? undefined : Buffer.from(body),
      ...options.sign,
    })
    return call(this.place, method, path, { ...options, body, headers: { ...signed, ...options.headers } })
  }

  get(path: string, options?: CallOptions): Promise<HttpAnswer> {
    return this.call('GET', path, options)
  }

  post(path: string, body?: unknown, options?: CallOptions): Promise<HttpAnswer> {
    return this.call('POST', path, { ...options, body })
  }

  put(path: string, body?: unknown, options?: CallOptions): Promise<HttpAnswer> {
    return this.call('PUT', path, { ...options, body })
  }

  patch(path: string, body?: unknown, options?: CallOptions): Promise<HttpAnswer> {
    return this.call('PATCH', path, { ...options, body })
  }

  /** Asks for a challenge and solves it. */
  async solve(pubkey: string = this.pubkey): Promise<{ challenge: string; nonce: string }> {
    const answer = await call(this.place, 'POST', '/v2/challenges', { body: { pubkey } })
    if (answer.status !== 201) throw new Error(`no challenge: ${answer.status} ${answer.text}`)
    const { challenge, difficulty } = answer.body as { challenge: string; difficulty: number }
    return { challenge, nonce: await solveWork(challenge, difficulty) }
  }

  /** Registers. Retries if the machine is busy. This is safe, because an identical repeat succeeds (spec 5.6). */
  async register(): Promise<this> {
    const work = await eventually(() => this.solve())
    const register = () => this.post('/v2/agents/register', { name: this.name, pubkey: this.pubkey, ...work })
    const answer = await untilAnswered(register)
    if (answer.status !== 201 && answer.status !== 200)
      throw new Error(`not registered: ${answer.status} ${answer.text}`)
    return this
  }

  /** Sends a fresh signed envelope. */
  send(to: Agent | string, body: JsonValue = 'hello', changes: Partial<UnsignedEnvelope> = {}): Promise<HttpAnswer> {
    return this.post('/v2/messages', this.envelope(to, body, changes))
  }
}

function bodyText(body: unknown): string | undefined {
  return body === undefined || typeof body === 'string' ? body : JSON.stringify(body)
}

function parseOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
