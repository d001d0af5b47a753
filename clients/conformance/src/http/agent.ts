/** An agent of the runner. It signs by the specification and uses no client library, so that neither can hide a fault of the other. */
import { createHash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { solveWork } from '@svc/svc1/pow.ts'
import { signBytes } from '@svc/svc1/sign.ts'
import type { Answer, ExchangeOptions, Observe } from './exchange.ts'
import { Identity } from './identity.ts'
import type { Server } from './server.ts'

/** Parts of the seven signed lines (spec 3.3) that differ from what is sent. `timestamp` and `nonce` are sent too. */
interface Signing {
  readonly authority?: string
  readonly method?: string
  readonly target?: string
  readonly body?: string
  readonly timestamp?: number | string
  readonly nonce?: string
  /** The agent id in `Authorization`. It is not signed. */
  readonly id?: string
}

export interface CallOptions extends ExchangeOptions {
  /** A string or bytes are sent unchanged, anything else as JSON. */
  readonly body?: unknown
  /** Added to the correct headers, or in their place. `null` removes one; a list is sent as several lines. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>> | undefined
  readonly sign?: Signing | undefined
  readonly gateway?: number | undefined
}

export interface Caller {
  call(method: string, target: string, options?: CallOptions): Promise<Answer>
}

/** Registrations are refused faster than other requests (spec 3.15), so an agent waits for its turn. */
const MAX_TRIES = 600
const TRIES_IF_UNAVAILABLE = 4

/** @returns a caller without a signature. */
export function anonymous(server: Server): Caller {
  return { call: (method, target, options = {}) => callWith(server, `${method} ${target}`, options) }
}

export class Agent extends Identity implements Caller {
  readonly server: Server
  observe: Observe | undefined

  constructor(server: Server, name: string = `c-${randomBytes(6).toString('hex')}`, key: KeyPair = createKeyPair()) {
    super(name, key, server.authority)
    this.server = server
  }

  /** The signature headers of a request, and what was signed. */
  sign(method: string, target: string, body: string | Uint8Array | undefined, sign: Signing = {}) {
    const timestamp = String(sign.timestamp ?? Math.floor(Date.now() / 1_000))
    const nonce = sign.nonce ?? randomBytes(16).toString('hex')
    const hash = createHash('sha256')
      .update(sign.body ?? body ?? '')
      .digest('hex')
    const lines = [
      sign.authority ?? this.authority,
      sign.method ?? method,
      sign.target ?? target,
      timestamp,
      nonce,
      hash,
    ]
    const signedString = ['SVC1', ...lines].join('\n')
    const signature = Buffer.from(signBytes(Buffer.from(signedString), this.key.secretKey)).toString('base64')
    const headers = {
      authorization: `SVC ${sign.id ?? this.id}:${signature}`,
      'x-svc-timestamp': timestamp,
      'x-svc-nonce': nonce,
    }
    return { headers, signedString }
  }

  /** A signed call. A server may answer `unavailable` at any point (spec 3.5), so such a call is repeated a few times. */
  async call(method: string, target: string, options: CallOptions = {}): Promise<Answer> {
    for (let tries = 1; ; tries += 1) {
      const { headers, signedString } = this.sign(method, target, bytesOf(options.body), options.sign)
      const answer = await callWith(
        this.server,
        `${method} ${target}`,
        { observe: this.observe, ...options },
        { headers, signer: this.name, signedString },
      )
      if (answer.body?.error?.code !== 'unavailable' || tries === TRIES_IF_UNAVAILABLE) return answer
      await sleep(waitMs(answer))
    }
  }

  get(target: string, options?: CallOptions): Promise<Answer> {
    return this.call('GET', target, options)
  }

  post(target: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    return this.call('POST', target, { ...options, body })
  }

  put(target: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    return this.call('PUT', target, { ...options, body })
  }

  patch(target: string, body?: unknown, options?: CallOptions): Promise<Answer> {
    return this.call('PATCH', target, { ...options, body })
  }

  /** Asks for a challenge and solves it (spec 5.4, 5.5). */
  async solve(): Promise<{ challenge: string; nonce: string; difficulty: number; expires_at: number }> {
    const ask = () =>
      anonymous(this.server).call('POST', '/v2/challenges', { body: { pubkey: this.pubkey }, observe: this.observe })
    const { status, text, body } = await patiently(ask)
    if (status !== 201) throw new Error(`POST /v2/challenges gave no challenge (spec 5.4): ${status} ${text}`)
    return { ...body, nonce: await solveWork(body.challenge, body.difficulty) }
  }

  /** Registers under its name (spec 5.6). */
  async register(): Promise<this> {
    const { challenge, nonce } = await this.solve()
    const registration = { name: this.name, pubkey: this.pubkey, challenge, nonce }
    const { status, text } = await patiently(() => this.post('/v2/agents/register', registration))
    if (status !== 201) throw new Error(`POST /v2/agents/register refused a new agent (spec 5.6): ${status} ${text}`)
    return this
  }

  /** Sends a fresh signed envelope. */
  send(to: Identity | string, body: unknown = 'hello', changes: Partial<UnsignedEnvelope> = {}): Promise<Answer> {
    return this.post('/v2/messages', this.envelope(to, body, changes))
  }
}

interface Signed {
  readonly headers: Record<string, string>
  readonly signer?: string
  readonly signedString?: string
}

function callWith(
  server: Server,
  line: string,
  { body: given, headers = {}, gateway, observe, onStream }: CallOptions,
  signed: Signed = { headers: {} },
): Promise<Answer> {
  const [method = '', target = ''] = line.split(' ')
  const body = bytesOf(given)
  const correct = { ...signed.headers, ...(body === undefined ? {} : { 'content-type': 'application/json' }) }
  const changed = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
  const lines = Object.entries({ ...correct, ...changed }).flatMap(([name, value]) =>
    value === null ? [] : [[name, headerOf(value)] as const],
  )
  const sent = {
    method,
    target,
    body,
    headers: Object.fromEntries(lines),
    signer: signed.signer,
    signedString: signed.signedString,
  }
  return server.send(sent, { observe, onStream, ...(gateway === undefined ? {} : { gateway }) })
}

/** Repeats a call that the rate limits or a lack of room refused, as spec 13.2 says. */
function patiently(call: () => Promise<Answer>): Promise<Answer> {
  return repeatWhile(({ status }) => status === 429 || status === 503, call)
}

/** Repeats a call that the rate limits (spec 3.15) refused. */
export function untilAdmitted(call: () => Promise<Answer>): Promise<Answer> {
  return repeatWhile(({ body }) => body?.error?.code === 'rate_limited', call)
}

async function repeatWhile(isRefused: (answer: Answer) => boolean, call: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries += 1) {
    const answer = await call()
    if (!isRefused(answer) || tries === MAX_TRIES) return answer
    await sleep(waitMs(answer))
  }
}

function waitMs({ headers }: Answer): number {
  return Number(headers.get('retry-after') ?? 1) * 1_000
}

/** Node sends header values as Latin-1, so other characters are given as the bytes of their UTF-8. */
function headerOf(value: string | readonly string[]): string | string[] {
  const bytesOfText = (text: string): string =>
    /^[\0-\xff]*$/.test(text) ? text : Buffer.from(text).toString('latin1')
  return typeof value === 'string' ? bytesOfText(value) : value.map(bytesOfText)
}

function bytesOf(body: unknown): string | Uint8Array | undefined {
  return body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
}
