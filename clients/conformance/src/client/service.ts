/**
 * Plays the service on a port of this machine, in memory, for one case: it answers as the specification says, unless the case
 * gives another answer. It keeps every request, with what was wrong with it.
 */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Exchange } from '../result.ts'
import { type Authentication, authenticate } from './authentication.ts'
import type { Answer, ClientCase } from './case.ts'
import { memberOf, REGISTERED } from './cast.ts'
import { routeOf, SIGNED } from './routes.ts'
import type { Seen } from './seen.ts'
import { sendStream } from './stream-frames.ts'
import { World } from './world.ts'

interface Rendered {
  readonly status: number
  readonly headers: Record<string, string>
  readonly body: string
}

const TOLERANCE_SECONDS = 60

export class ScriptedService implements AsyncDisposable {
  readonly seen: Seen[] = []
  /** Requests that came to another server, to which the service had redirected the client. */
  readonly elsewhere: IncomingMessage[] = []
  readonly world: World
  readonly #case: ClientCase
  readonly #given = new Map<string, number>()
  readonly #nonces = new Set<string>()
  readonly #servers: Server[]
  #url = ''
  #elsewhereUrl = ''

  private constructor(one: ClientCase, world: World) {
    this.#case = one
    this.world = world
    const other = createServer((request, response) => {
      this.elsewhere.push(request)
      response.writeHead(404).end()
    })
    const server = createServer((request, response) => {
      this.#receive(request, response).catch((error: unknown) => response.destroy(error as Error))
    })
    this.#servers = [server, other]
  }

  static async start(one: ClientCase): Promise<ScriptedService> {
    const service = new ScriptedService(one, await World.create(one, () => Date.now() + one.ahead * 1000))
    const urls = await Promise.all(service.#servers.map(listen))
    service.#url = urls[0] ?? ''
    service.#elsewhereUrl = urls[1] ?? ''
    return service
  }

  get url(): string {
    return this.#url
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const server of this.#servers) {
      server.close()
      server.closeAllConnections()
    }
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const atMs = Date.now()
    const body = await buffer(request)
    const { method = '', url: target = '', headersDistinct: headers } = request
    const { route, id } = routeOf(method, target)
    const parts = { method, target, body, headers, urlAuthority: new URL(this.#url).host }
    const signed = headers.authorization === undefined ? undefined : authenticate(parts)
    const seen: Seen = {
      route,
      target,
      headers,
      body: body.toString(),
      atMs,
      answeredMs: undefined,
      authentication: typeof signed === 'string' ? undefined : signed,
      faults: [],
      exchange: exchangeOf(parts, typeof signed === 'string' ? undefined : signed),
    }
    this.seen.push(seen)
    const refusal = this.#refusalOf(seen, typeof signed === 'string' ? signed : undefined)
    const answer = refusal ?? this.#nextAnswer(route)
    await this.#answer(seen, id, answer, response)
  }

  /** The checks of spec 3.5 that come before the operation. */
  #refusalOf(seen: Seen, malformed: string | undefined): Answer | undefined {
    const { route, authentication, body, headers, faults } = seen
    const isJson = /^application\/json\s*(;|$)/i.test(headers['content-type']?.[0] ?? '')
    if (body !== '' && !isJson) faults.push('a request with a body must have Content-Type: application/json (3.10)')
    if (malformed !== undefined) faults.push(`${malformed} (3.2)`)
    else if (authentication === undefined && SIGNED.has(route)) faults.push('this operation must be signed (12.1)')
    if (faults.length > 0) return { status: 401, error: 'unauthenticated' }
    if (authentication === undefined) return undefined
    const isRepeated = this.#nonces.has(authentication.nonce)
    this.#nonces.add(authentication.nonce)
    if (isRepeated) faults.push('the nonce was used before: each try needs a new nonce (13.2)')
    const offSeconds = Math.abs(authentication.timestamp - Math.floor(this.#clockMs() / 1000))
    if (offSeconds > TOLERANCE_SECONDS) {
      if (this.#case.ahead === 0) faults.push(`X-SVC-Timestamp is ${offSeconds} s off (3.6)`)
      return { status: 401, error: 'timestamp_out_of_range' }
    }
    const isKnown = REGISTERED.some(({ agentId }) => agentId === authentication.agentId)
    if (!isKnown && route !== 'POST /v2/agents/register') return { status: 401, error: 'signer_unknown' }
    if (authentication.fault !== undefined) {
      faults.push(`${authentication.fault} (3.3)`)
      return { status: 401, error: 'signature_invalid' }
    }
    return isRepeated ? { status: 409, error: 'nonce_replayed' } : undefined
  }

  #nextAnswer(route: string): Answer {
    const at = this.#given.get(route) ?? 0
    this.#given.set(route, at + 1)
    let until = 0
    for (const answer of this.#case.answers[route] ?? []) {
      until += answer.times ?? 1
      if (at < until) return answer
    }
    return {}
  }

  async #answer(seen: Seen, id: string, answer: Answer, response: ServerResponse): Promise<void> {
    const isRefused = answer.status !== undefined || answer.redirect !== undefined || answer.cut === 'before'
    const usual = isRefused ? undefined : this.world.perform(seen, id)
    const { status, headers, body } = this.#render(answer, usual)
    seen.exchange = { ...seen.exchange, answer: { status: answer.cut ? 0 : status, headers, body } }
    response.sendDate = false
    try {
      if (answer.cut === 'before' || answer.cut === 'after') return void response.destroy()
      response.writeHead(status, headers)
      if (seen.route === 'GET /v2/stream' && status === 200) {
        response.flushHeaders()
        return await sendStream(response, answer.stream ?? this.world.framesAfter(seen), this.world, answer.chunk)
      }
      if (answer.cut === 'midway') {
        response.write(body.slice(0, body.length / 2), () => response.destroy())
        return
      }
      response.end(body)
    } finally {
      seen.answeredMs = Date.now()
    }
  }

  #render(
    answer: Answer,
    usual: { status: number; value?: unknown; headers?: Record<string, string> } | undefined,
  ): Rendered {
    const { status = usual?.status ?? 200, error, retry_after, html, date_ahead = 0, json, agent, redirect } = answer
    const date = (aheadSeconds: number): string => new Date(this.#clockMs() + aheadSeconds * 1000).toUTCString()
    const headers: Record<string, string> = { date: date(date_ahead), 'x-request-id': 'scripted', ...usual?.headers }
    if (retry_after !== undefined) {
      const [, seconds] = /^date (\d+)$/.exec(String(retry_after)) ?? []
      headers['retry-after'] = seconds === undefined ? String(retry_after) : date(Number(seconds))
    }
    if (redirect !== undefined) {
      headers.location = redirect === 'here' ? `${this.#url}/v2/health` : `${this.#elsewhereUrl}/v2/messages`
      return { status: 307, headers, body: '' }
    }
    Object.assign(headers, answer.headers)
    if (headers['content-type']?.startsWith('text/event-stream')) return { status, headers, body: '' }
    headers['content-type'] = html ? 'text/html' : 'application/json; charset=utf-8'
    const refusal = error && { error: { code: error, message: 'This text may change at any time.' } }
    const value = json ?? (agent && lookedUp(agent)) ?? refusal ?? usual?.value ?? {}
    const body = html ? '<html><body><h1>The proxy has no answer</h1></body></html>' : JSON.stringify(value)
    headers['content-length'] = String(Buffer.byteLength(body))
    return { status, headers, body }
  }

  #clockMs(): number {
    return Date.now() + this.#case.ahead * 1000
  }
}

function exchangeOf(
  { method, target, headers, body, urlAuthority }: Parameters<typeof authenticate>[0],
  authentication: Authentication | undefined,
): Exchange {
  return {
    request: {
      method,
      url: `http://${urlAuthority}${target}`,
      headers: Object.fromEntries(Object.entries(headers).map(([name, values = []]) => [name, values.join(', ')])),
      body: body.length === 0 ? undefined : body.toString(),
      signer: REGISTERED.find(({ agentId }) => agentId === authentication?.agentId)?.name,
      signedString: authentication?.signedString,
    },
    answer: { status: 0, headers: {}, body: '' },
  }
}

function lookedUp({ name, key, id }: NonNullable<Answer['agent']>): object {
  const created_at = Math.floor(Date.now() / 1000) - 60
  return { agent_id: memberOf(id).agentId, name, pubkey: memberOf(key).pubkey, created_at, revoked: false }
}

async function listen(server: Server): Promise<string> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
