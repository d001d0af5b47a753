/**
 * A small client that keeps the rules, unless `start` names the one to break. It shows that the suite can be passed, and that each case
 * can fail.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isSameAuthority } from '@svc/envelope/address.ts'
import type { Envelope, SealedEnvelope, SignedEnvelope, UnsignedEnvelope } from '@svc/envelope/envelope.ts'
import { jcsBytes } from '@svc/envelope/jcs.ts'
import { decryptEnvelope, sealEnvelope } from '@svc/envelope/seal.ts'
import { signEnvelope, verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { agentIdOf, isAgentId } from '@svc/svc1/agent-id.ts'
import { encodeBase64 } from '@svc/svc1/base64.ts'
import { ORDER, Point } from '@svc/svc1/ed25519.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { solveWork } from '@svc/svc1/pow.ts'
import { formatPublicKey, isPublicKey, parsePublicKey } from '@svc/svc1/public-key.ts'
import { signBytes, signRequest } from '@svc/svc1/sign.ts'
import { type Given, serve } from '../adapters/serve.ts'

let fault = ''
const has = (...faults: string[]): boolean => faults.includes(fault)

const BACKOFF_MS = [100, 200, 400, 800, 1_600, 3_200]
const LONGEST_WAIT_SECONDS = 30
const LONGEST_CORRECTION_SECONDS = 86_400
const DAILY = ['budget_exhausted', 'hard_limit_reached', 'introduction_limit_reached']

class Refusal extends Error {
  readonly code: string
  readonly status: number
  readonly waitSeconds: number | undefined
  constructor(code: string, status = 0, waitSeconds?: number) {
    super(code)
    this.code = code
    this.status = status
    this.waitSeconds = waitSeconds
  }
}

interface Kept {
  cursor: number
  pins: Record<string, string>
}

let key: KeyPair
let name = ''
let url = ''
let authority: string | undefined
let aheadSeconds = 0
let warned = false
let file = ''
let kept: Kept = { cursor: 0, pins: {} }
let told: Record<string, string> = {}
let counter = 0

interface Call {
  readonly method?: string
  readonly body?: unknown
  readonly signed?: boolean
  /** Whether a repeat can do no harm. */
  readonly repeatable?: boolean
}

async function call(
  target: string,
  { method = 'GET', body, signed = true, repeatable = true }: Call = {},
): Promise<Response> {
  if (signed)
    authority ??= has('url authority')
      ? new URL(url).host
      : (await json('/.well-known/agent.json', { signed: false })).authority
  let headers: Record<string, string> | undefined
  let corrections = 0
  const tries = has('no retry') || !repeatable ? [] : has('hot loop') ? Array<number>(5_000).fill(0) : BACKOFF_MS
  for (const backoffMs of [...tries, undefined]) {
    const text =
      body === undefined
        ? undefined
        : JSON.stringify(has('new envelope', 'new seal') && target === '/v2/messages' ? await again(body) : body)
    if (!has('same headers') || headers === undefined) headers = signed ? signature(method, target, text) : {}
    const type = text === undefined || has('no content type') ? {} : { 'content-type': 'application/json' }
    try {
      return await exchange(target, method, { ...headers, ...type }, text)
    } catch (error) {
      if (backoffMs === undefined) throw error
      if (error instanceof Refusal && error.code === 'clock corrected') {
        if (corrections++ < 1 || has('clock loop')) continue
        throw new Refusal('timestamp_out_of_range')
      }
      const waitMs = waitOf(error, backoffMs)
      if (waitMs === undefined) throw error
      await sleep(waitMs)
    }
  }
  throw new Error('the last try returns or throws')
}

async function json(target: string, options: Call = {}): Promise<Given> {
  return (await call(target, options)).json()
}

function signature(method: string, target: string, text: string | undefined): Record<string, string> {
  const path = has('no query') ? target.split('?')[0] : has('decoded target') ? decodeURIComponent(target) : target
  counter += 1
  const nonce = has('fixed nonce')
    ? '0'.repeat(32)
    : has('counted nonces')
      ? counter.toString(16).padStart(32, '0')
      : undefined
  return signRequest(key, {
    authority: authority ?? '',
    method,
    target: path ?? '',
    body: text === undefined || has('body not signed') ? undefined : Buffer.from(text),
    timestamp: has('old timestamp') ? startedSeconds : Math.floor(Date.now() / 1000) + aheadSeconds,
    nonce,
  })
}
const startedSeconds = Math.floor(Date.now() / 1000)

async function exchange(
  target: string,
  method: string,
  headers: Record<string, string>,
  body?: string,
): Promise<Response> {
  const redirect = has('follows redirects') ? 'follow' : 'manual'
  const response = await fetch(url + target, { method, headers, redirect, ...(body === undefined ? {} : { body }) })
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  // Reads the body here, so that an answer that is cut counts as lost.
  const text = isStream
    ? ''
    : await response.text().catch((error) => (has('half answers') ? '{}' : Promise.reject(error)))
  const date = Math.round((Date.parse(response.headers.get('date') ?? '') - Date.now()) / 1000)
  if (has('any date')) aheadSeconds = date
  if (response.ok) return isStream ? response : new Response(text, { headers: response.headers })
  if (response.status < 400) throw new Refusal('redirected', response.status)
  const error = parsed(text)?.error
  if (error === undefined && has('no pages')) throw new Refusal('not_json')
  if (
    error?.code === 'timestamp_out_of_range' &&
    !has('no correction') &&
    Math.abs(date - aheadSeconds) > (has('clock loop') ? -1 : 1)
  )
    correct(date)
  const code = has('message for code') ? error?.message : error?.code
  throw new Refusal(code ?? 'no_answer', response.status, secondsToWait(response))
}

function correct(date: number): void {
  if (Math.abs(date) > LONGEST_CORRECTION_SECONDS && !has('no limit')) return
  aheadSeconds = date
  warned = !has('no warning')
  throw new Refusal('clock corrected')
}

function secondsToWait({ headers }: Response): number | undefined {
  const value = headers.get('retry-after')
  if (value === null || has('no retry-after')) return undefined
  if (/^\d+$/.test(value)) return Number(value)
  return has('no dates') ? undefined : Math.ceil((Date.parse(value) - Date.parse(headers.get('date') ?? '')) / 1000)
}

/** How long to wait before the next try. Undefined if none can help. */
function waitOf(error: unknown, backoffMs: number): number | undefined {
  if (!(error instanceof Refusal)) return backoffMs
  const { code, status, waitSeconds = 0 } = error
  const mayHelp = [429, 500, 502, 503, 504].includes(status) || code === 'nonce_replayed'
  if (code === 'nonce_replayed' && has('replayed is final')) return undefined
  if (code === 'internal' && has('internal is final')) return undefined
  if (has('retries anything')) return backoffMs
  if (!mayHelp || (DAILY.includes(code) && !has('short waits'))) return undefined
  if (has('short waits')) return Math.min(waitSeconds * 1000, 1_000)
  return waitSeconds > LONGEST_WAIT_SECONDS ? undefined : Math.max(waitSeconds * 1000 + 20, backoffMs)
}

function parsed(text: string): Given {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

// ---- messages

const ownAddress = (): string => `${name}@${authority}`
let sealedOnce: SealedEnvelope | undefined
let drafted: { to: string; body: never; seal: boolean } | undefined

async function composed({ to, body, seal }: { to: string; body: never; seal: boolean }): Promise<Envelope> {
  authority ??= has('url authority')
    ? new URL(url).host
    : (await json('/.well-known/agent.json', { signed: false })).authority
  drafted = { to, body, seal }
  const draft: UnsignedEnvelope = {
    id: has('one id') ? 'always-the-same' : crypto.randomUUID(),
    from: has('id in from') ? key.agentId : ownAddress(),
    to,
    type: 'event',
    ts: new Date(Date.now() + aheadSeconds * 1000).toISOString(),
    body,
  }
  if (has('plain JSON')) {
    const text = Buffer.from(JSON.stringify(draft))
    return { ...draft, sig: encodeBase64(signBytes(text, key.secretKey)) }
  }
  if (!seal) return signEnvelope(draft, key.secretKey)
  try {
    const recipient = has('seals for itself') ? key.publicKey : await keyOf(to.split('@')[0] ?? '')
    const sealed = await sealEnvelope(draft, recipient, key.secretKey)
    sealedOnce ??= sealed
    return has('one ephemeral key') ? { ...sealed, ephemeral_pub: sealedOnce.ephemeral_pub } : sealed
  } catch (error) {
    if (has('sends unsealed')) return signEnvelope(draft, key.secretKey)
    throw error
  }
}

/** The envelope of a repeat, by a client that composes it anew. */
async function again(body: unknown): Promise<unknown> {
  if (drafted === undefined) return body
  const composedAnew = await composed(drafted)
  return has('new seal') ? { ...composedAnew, id: (body as Envelope).id } : composedAnew
}

async function keyOf(who: string, isAsked = false): Promise<Uint8Array> {
  const pinned = kept.pins[who]
  if (pinned !== undefined && !isAsked && !has('no pins')) return publicKeyOf(pinned)
  if (has('makes agents up')) return key.publicKey
  const found = await json(`/v2/agents/${has('asks for nobody') ? 'nobody' : encodeURIComponent(who)}`, {
    signed: false,
  })
  const publicKey = publicKeyOf(found.pubkey)
  const agentId = agentIdOf(publicKey)
  if (found.name !== who && !has('any name')) throw new Refusal('wrong_name')
  if (found.agent_id !== agentId && !has('any id')) throw new Refusal('wrong_id')
  const isOther = (one: string | undefined): boolean => one !== undefined && one !== agentId
  if (isOther(pinned && agentIdOf(publicKeyOf(pinned))) && !has('no pins')) throw new Refusal('key_changed')
  if (isOther(told[who]) && !has('deaf')) throw new Refusal('wrong_key')
  kept.pins[who] = found.pubkey
  if (!has('forgets pins')) save()
  return publicKey
}

function publicKeyOf(text: string): Uint8Array {
  const allowed = has('any key') ? () => true : isPublicKey
  const publicKey = parsePublicKey(text, allowed)
  if (publicKey === undefined) throw new Refusal('wrong_key')
  return publicKey
}

async function verdictOf(envelope: Envelope, place: string, senderKey?: string): Promise<string> {
  authority ??= (await json('/.well-known/agent.json', { signed: false })).authority
  const [who = '', at] = envelope.from.split('@')
  const isHere = at !== undefined && (isSameAuthority(at, authority ?? '') || has('any authority'))
  let publicKey: Uint8Array
  try {
    if (senderKey !== undefined) publicKey = publicKeyOf(senderKey)
    else if (isHere) publicKey = await keyOf(who)
    else return 'unknown_sender'
  } catch (error) {
    return error instanceof Refusal && error.code === 'not_found' ? 'unknown_sender' : 'bad_signature'
  }
  let signed = envelope as SignedEnvelope
  try {
    if ('body_enc' in envelope && has('opens nothing')) return 'cannot_open'
    if ('body_enc' in envelope) signed = await decryptEnvelope(envelope as SealedEnvelope, key.secretKey)
  } catch {
    return 'cannot_open'
  }
  if (!(await isGood(signed, publicKey))) return 'bad_signature'
  const { to } = envelope
  const isMine = has('case of authorities') ? to === place : isSameAuthority(to, place)
  return isMine || has('any reader') ? 'verified' : 'addressed_to_another'
}

async function isGood(envelope: SignedEnvelope, publicKey: Uint8Array): Promise<boolean> {
  const { sig, ...rest } = envelope
  if (has('no signatures')) return true
  if (has('signs without ttl')) delete rest.ttl
  if (has('small ttl') && (rest.ttl ?? 0) > 2 ** 53) return false
  const isLax = has(
    'lax base64',
    'lax signatures',
    'any key',
    'reduces S',
    'any key for an id',
    'plain JSON',
    'signs without ttl',
  )
  if (!isLax) return verifyEnvelope(envelope, publicKey)
  if (!has('any key for an id') && isAgentId(rest.from) && agentIdOf(publicKey) !== rest.from) return false
  const bytes = Buffer.from(sig, 'base64')
  if (!has('lax base64') && encodeBase64(bytes) !== sig) return false
  return isEquationMet(bytes, has('plain JSON') ? Buffer.from(JSON.stringify(rest)) : jcsBytes(rest), publicKey)
}

/** Only the last rule of spec 3.4, as many libraries have it. */
function isEquationMet(signature: Uint8Array, message: Uint8Array, publicKey: Uint8Array): boolean {
  const [r, s] = [signature.subarray(0, 32), numberOf(signature.subarray(32))]
  if (s >= ORDER && !has('reduces S')) return false
  const k = numberOf(createHash('sha512').update(r).update(publicKey).update(message).digest()) % ORDER
  const point = Point.BASE.multiplyUnsafe(s % ORDER).subtract(Point.fromBytes(publicKey).multiplyUnsafe(k))
  return Buffer.compare(point.toBytes(), r) === 0
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

// ---- events

interface Read {
  readonly cursor: number
  readonly message: { readonly envelope: Envelope; readonly acked: boolean }
}

async function* history(after: number, onGap: () => void): AsyncGenerator<Read> {
  for (;;) {
    const response = await call(`/v2/events?after=${after}`)
    if (isGap(response, after)) onGap()
    const page: Given = await response.json()
    yield* page.events
    if (page.next_cursor === after || has('one page') || (has('empty page ends') && page.events.length === 0)) return
    after = page.next_cursor
  }
}

function isGap({ headers }: Response, after: number): boolean {
  if (has('no gap')) return false
  return after > 0 && Number(headers.get('x-svc-earliest-cursor')) > after + (has('gap always') ? 0 : 1)
}

async function* follow(after: number, onGap: () => void): AsyncGenerator<Read> {
  let resumeAt = after
  let given = after
  for (let failures = 0; ; ) {
    try {
      const response = await call(
        `/v2/stream?after=${has('from the oldest') ? 0 : has('from the start') ? after : resumeAt}`,
        { repeatable: false },
      )
      if (isGap(response, resumeAt)) {
        onGap()
        return
      }
      for await (const { event, data, id } of framesOf(response)) {
        failures = 0
        if (event === 'message') {
          const read = JSON.parse(data)
          if (read.cursor > given || has('hands out repeats')) yield read
          given = Math.max(given, read.cursor)
        }
        if (id === '0' && has('no cursor of 0')) throw new Refusal('no_cursor')
        if (id !== undefined && (event === 'message' || !has('no cursor frames'))) resumeAt = Number(id)
      }
    } catch (error) {
      if (error instanceof Refusal && error.code !== 'clock corrected') {
        const waitMs = has('stream for ever') ? 100 : waitOf(error, BACKOFF_MS[failures] ?? 3_200)
        if (waitMs === undefined || has('stream gives up')) throw error
        await sleep(waitMs)
      }
      if (has('stream gives up')) throw error
    }
    await sleep(BACKOFF_MS[failures++] ?? 3_200)
  }
}

interface Frame {
  event: string
  data: string
  id?: string
}

async function* framesOf({ body }: Response): AsyncGenerator<Frame> {
  const decoder = new TextDecoder()
  let rest = ''
  const reader = body?.getReader()
  let failure: unknown
  const keep = (error: unknown): void => {
    failure = error
  }
  for (;;) {
    const { value: bytes } = (await reader?.read().catch(keep)) ?? {}
    if (bytes === undefined) break
    rest += has('bytes are characters') ? Buffer.from(bytes).toString() : decoder.decode(bytes, { stream: true })
    const whole = rest.split('\n\n')
    rest = has('a chunk is a frame') ? '' : (whole.pop() ?? '')
    for (const text of whole) {
      const lines = text.split('\n').map((line) => /^(\w*):? ?(.*)$/.exec(line)?.slice(1) ?? [])
      const of = (field: string): string | undefined => lines.find(([one]) => one === field)?.[1]
      if (has('comments are events') && of('') !== undefined) yield { event: 'message', data: of('') ?? '' }
      const id = of('id')
      if (of('data') !== undefined)
        yield { event: of('event') ?? 'message', data: of('data') ?? '', ...(id === undefined ? {} : { id }) }
    }
  }
  // A half event whose cursor is read from its data.
  const cursor = has('half events') ? /"cursor":(\d+)/.exec(rest)?.[1] : undefined
  if (cursor !== undefined) yield { event: 'cursor', data: '', id: cursor }
  if (failure !== undefined) throw failure
}

async function collected(events: AsyncIterable<Read>, until = Number.POSITIVE_INFINITY): Promise<object> {
  const found: Read[] = []
  for await (const event of events) {
    found.push(event)
    if (event.cursor >= until) break
  }
  return {
    cursors: found.map(({ cursor }) => cursor),
    bodies: found.map(({ message }) => (message.envelope as SignedEnvelope).body),
  }
}

function save(): void {
  writeFileSync(file, JSON.stringify(kept))
}

await serve({
  async start({ base_url, secret_key, folder, ...given }) {
    url = base_url
    name = given.name
    fault = given.fault ?? ''
    key = createKeyPair(Buffer.from(secret_key, 'hex'))
    file = `${folder}/kept.json`
    kept = existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : { cursor: 0, pins: {} }
    authority = sealedOnce = drafted = undefined
    told = {}
    aheadSeconds = 0
    warned = false
    return { keeps: true }
  },
  async register() {
    const pubkey = formatPublicKey(key.publicKey)
    const { challenge, difficulty } = await json('/v2/challenges', { method: 'POST', body: { pubkey }, signed: false })
    const nonce = has('no work') ? '0' : await solveWork(challenge, difficulty)
    const body = { name, pubkey, challenge, nonce }
    return json('/v2/agents/register', { method: 'POST', body, repeatable: !has('registers once') })
  },
  async send(given) {
    const envelope = await composed(given)
    return { id: (await json('/v2/messages', { method: 'POST', body: envelope })).msg_id }
  },
  async inbox() {
    const ids: string[] = []
    for (let after: string | undefined; ; ) {
      const query = after === undefined ? '' : `?after=${has('cursor as it is') ? after : encodeURIComponent(after)}`
      const page = await json(`/v2/inbox${query}`)
      ids.push(...page.messages.map(({ envelope }: Read['message']) => envelope.id))
      after = page.next_cursor
      if (after === '' && has('empty cursor')) await json('/v2/inbox?after=')
      if (after === '' || has('one page')) return { ids, warned }
    }
  },
  async events({ after }) {
    let gap = false
    const read = await collected(history(after, () => (gap = true)))
    return { ...read, gap }
  },
  async follow({ after, until }) {
    let gap = false
    const read = await collected(
      follow(after, () => (gap = true)),
      until,
    )
    return { ...read, gap }
  },
  async process({ until }) {
    authority ??= (await json('/.well-known/agent.json', { signed: false })).authority
    const handled: string[] = []
    for await (const { cursor, message } of history(kept.cursor, () => {})) {
      const { envelope } = message
      const isNew = !handled.includes(envelope.id) || has('handles repeats')
      const isVerified = (await verdictOf(envelope, ownAddress())) === 'verified' || has('handles anything')
      if (isNew && isVerified) handled.push(envelope.id)
      kept.cursor = cursor
      if (!has('forgets its place')) save()
      if (envelope.id === until) break
    }
    return { handled }
  },
  async look_up({ name: who }) {
    return { agent_id: agentIdOf(await keyOf(who, true)) }
  },
  async tell({ name: who, agent_id }) {
    told[who] = agent_id
    return {}
  },
  async verify({ envelope, read_from, sender_key }) {
    authority ??= (await json('/.well-known/agent.json', { signed: false })).authority
    return { verdict: await verdictOf(envelope, read_from === 'inbox' ? ownAddress() : read_from, sender_key) }
  },
  async create_board({ title }) {
    return json('/v2/boards', {
      method: 'POST',
      body: { title, visibility: 'public' },
      repeatable: has('boards again'),
    })
  },
})
