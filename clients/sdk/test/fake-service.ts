/**
 * A small HTTP server that answers like the service, for tests of the SDK and the CLI without the system. It checks
 * signatures in the order of spec 3.5 and the shape of envelopes, and keeps its state in memory. It has only those rules of
 * admission and budget that a client can observe. Tests can inject faults.
 */
import { hash } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { parseAuthorization, parseNonce, parseTimestamp } from '@svc/svc1/headers.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import { verifySignature } from '@svc/svc1/verify.ts'
import type { Account } from './fake-account.ts'
import { createFakeApi, type Reply, refuse } from './fake-api.ts'

/** A fault that is injected into one request. */
export type Fault =
  /** Answers with this error, and does nothing else. */
  | { kind: 'refuse'; code: ErrorCode; retryAfterSeconds?: number }
  /** Answers with exactly this, and does nothing else. */
  | { kind: 'answer'; status: number; body: string; headers?: Record<string, string> }
  /** Cuts the connection, and does nothing else. */
  | { kind: 'cut' }
  /** Handles the request, then cuts the connection instead of answering. */
  | { kind: 'lose' }
  /** Handles the request twice, as if a proxy had repeated it, and gives the second answer. */
  | { kind: 'double' }
  /** Never answers. */
  | { kind: 'hang' }

interface SeenRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

interface FakeOptions {
  /** Leading zero bits of challenges. Default 8, so that tests do not wait. */
  difficulty?: number
  /** The service's clock minus this machine's. */
  clockOffsetMs?: number
  /** Default: the address it listens on. */
  authority?: string
}

export interface FakeService extends AsyncDisposable {
  readonly url: string
  readonly authority: string
  /** Every request in order of arrival, including those with an injected fault. */
  readonly requests: SeenRequest[]
  clockOffsetMs: number
  /** Injects these faults, in this order, into the next requests whose `<METHOD> <path>` begins with the given text. */
  meet(prefix: string, ...faults: Fault[]): void
  /** Changes a stored message, as a hostile service could. */
  tamper(id: string, change: (envelope: Record<string, unknown>) => void): void
  /** Drops the events up to this cursor, as the retention does. */
  forgetEvents(name: string, upTo: number): void
  /** Cuts every open stream. */
  dropStreams(): void
}

export async function startFakeService(options: FakeOptions = {}): Promise<FakeService> {
  const { difficulty = 8 } = options
  const requests: SeenRequest[] = []
  const faults: { prefix: string; fault: Fault }[] = []
  const nonces = new Set<string>()
  const streams = new Set<ServerResponse>()
  let clockOffsetMs = options.clockOffsetMs ?? 0

  const server = createServer((request, response) => void take(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const authority = options.authority ?? host
  const api = createFakeApi({ authority, difficulty, nowMs })

  return {
    url: `http://${host}`,
    authority,
    requests,
    get clockOffsetMs() {
      return clockOffsetMs
    },
    set clockOffsetMs(ms) {
      clockOffsetMs = ms
    },
    meet(prefix, ...list) {
      faults.push(...list.map((fault) => ({ prefix, fault })))
    },
    tamper(id, change) {
      const message = api.findMessage(id)
      if (message === undefined) throw new Error(`no message ${id}`)
      change(message.envelope as Record<string, unknown>)
    },
    forgetEvents(name, upTo) {
      const account = api.findByName(name)
      if (account !== undefined) account.events = account.events.filter(({ cursor }) => cursor > upTo)
    },
    dropStreams() {
      for (const response of streams) response.destroy()
    },
    [Symbol.asyncDispose]: () => close(server),
  }

  async function take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = Buffer.concat(await request.toArray())
    const seen = {
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.headers,
      body: body.toString(),
    }
    requests.push(seen)
    const index = faults.findIndex(({ prefix }) => `${seen.method} ${seen.target}`.startsWith(prefix))
    const fault = index < 0 ? undefined : faults.splice(index, 1)[0]?.fault
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'cut') {
      request.socket.destroy()
      return
    }
    response.setHeader('date', new Date(nowMs()).toUTCString())
    response.setHeader('x-request-id', String(requests.length).padStart(32, '0'))
    if (fault?.kind === 'answer') {
      response.writeHead(fault.status, fault.headers).end(fault.body)
      return
    }
    try {
      if (fault?.kind === 'refuse') throw new ServiceError(fault.code, fault)
      if (seen.target.startsWith('/v2/stream')) {
        stream(seen, response)
        return
      }
      if (fault?.kind === 'double') attempt(() => handle(seen, body))
      const { status = 200, value, headers } = handle(seen, body)
      if (fault?.kind === 'lose') request.socket.destroy()
      else
        response
          .writeHead(status, { 'content-type': 'application/json', ...headers })
          .end(JSON.stringify({ ...value, added_later: true })) // contracts only grow
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error
      if (error.retryAfterSeconds !== undefined) response.setHeader('retry-after', error.retryAfterSeconds)
      const { code, message } = error
      response
        .writeHead(ERRORS[code].status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: { code, message } }))
    }
  }

  function handle(seen: SeenRequest, bytes: Buffer): Reply {
    const url = new URL(seen.target, 'http://fake')
    const registering = seen.method === 'POST' && url.pathname === '/v2/agents/register'
    const signer = authenticate(seen, bytes, registering)
    if (bytes.length > 0 && seen.headers['content-type'] !== 'application/json')
      throw new ServiceError('unsupported_media_type')
    const body = bytes.length > 0 ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {}
    return api.answer({ method: seen.method, url, body }, signer)
  }

  /** A live stream (spec 9.5): what is after the cursor, then what arrives. */
  function stream(seen: SeenRequest, response: ServerResponse): void {
    const account = authenticate(seen, Buffer.alloc(0), false) ?? refuse('unauthenticated')
    let cursor = Number(new URL(seen.target, 'http://fake').searchParams.get('after') ?? 0)
    response.writeHead(200, {
      'content-type': 'text/event-stream',
      'x-svc-earliest-cursor': account.events[0]?.cursor ?? account.cursor + 1,
    })
    response.write(': hello\n\n')
    const send = (): void => {
      for (const event of account.events.filter((event) => event.cursor > cursor)) {
        cursor = event.cursor
        response.write(`event: message\nid: ${cursor}\ndata: ${JSON.stringify(event)}\n\n`)
      }
    }
    send()
    response.write(`event: cursor\nid: ${cursor}\ndata: {"cursor":${cursor}}\n\n`)
    const timer = setInterval(send, 5)
    streams.add(response)
    response.on('close', () => {
      clearInterval(timer)
      streams.delete(response)
    })
  }

  /** The checks of spec 3.5, in the order of the spec. */
  function authenticate(seen: SeenRequest, body: Buffer, registering: boolean): Account | undefined {
    const header = seen.headers.authorization
    if (header === undefined) return registering ? refuse('unauthenticated') : undefined
    const nonceText = String(seen.headers['x-svc-nonce'])
    const timestampText = String(seen.headers['x-svc-timestamp'])
    const authorization = parseAuthorization(header) ?? refuse('unauthenticated')
    const timestamp = parseTimestamp(timestampText) ?? refuse('unauthenticated')
    const nonce = parseNonce(nonceText) ?? refuse('unauthenticated')
    if (Math.abs(timestamp - nowMs() / 1000) > 60) throw new ServiceError('timestamp_out_of_range')
    const signer = api.accounts.get(authorization.agentId)
    const pubkey = registering ? String((JSON.parse(body.toString()) as { pubkey: unknown }).pubkey) : signer?.pubkey
    if (pubkey === undefined) throw new ServiceError('signer_unknown')
    const publicKey = parsePublicKey(pubkey) ?? refuse('invalid_pubkey')
    const lines = signedString({
      authority,
      method: seen.method,
      target: seen.target,
      timestamp: timestampText,
      nonce: nonceText,
      bodySha256Hex: hash('sha256', body),
    })
    if (agentIdOf(publicKey) !== authorization.agentId) throw new ServiceError('signature_invalid')
    if (!verifySignature(authorization.signature, Buffer.from(lines), publicKey)) {
      throw new ServiceError('signature_invalid')
    }
    if (signer?.revoked === true && !registering) throw new ServiceError('signer_revoked')
    const nonceKey = `${authorization.agentId} ${hexOf(nonce)}`
    if (nonces.has(nonceKey)) throw new ServiceError('nonce_replayed')
    nonces.add(nonceKey)
    return signer
  }

  function nowMs(): number {
    return Date.now() + clockOffsetMs
  }
}

function hexOf(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('hex')
}

function attempt(run: () => unknown): void {
  try {
    run()
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error
  }
}

function close(server: Server): Promise<void> {
  server.closeAllConnections()
  return new Promise((resolve, reject) => server.close((error) => (error === undefined ? resolve() : reject(error))))
}
