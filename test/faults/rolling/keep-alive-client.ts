import { Agent as HttpAgent, request as httpRequest } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { signRequest } from '@svc/svc1/sign.ts'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { eventually } from '../../support/eventually.ts'

interface KeepAliveAnswer extends HttpAnswer {
  /** The request was a resend, because the first connection closed before any byte of an answer arrived. */
  readonly again: boolean
}

export interface Outgoing {
  readonly method: string
  readonly target: string
  readonly body?: unknown
}

/** An HTTP client with persistent connections, and with a balancer that uses the ready gateways in turn. */
interface KeepAliveClient extends AsyncDisposable {
  /** A signed call. @throws Error if it cannot connect or its connection breaks. A rolling restart must cause neither. */
  call(agent: Agent, outgoing: Outgoing): Promise<KeepAliveAnswer>
  /** Base addresses of the gateways that are ready now. */
  ready(): string[]
  /** Keeps this gateway out of use during the work, like a balancer that is told before the gateway stops. */
  without<T>(url: string, work: () => Promise<T>): Promise<T>
}

interface Failure extends Error {
  code?: string
}

const CONNECTIONS = 8
/** How often the balancer checks readiness. A draining gateway serves for longer than this (SVC_DRAIN_SECONDS). */
const ASK_MS = 100
/** A client may resend a request if the server closed its idle connection at that moment (RFC 9112, 9.3.1). */
const MAX_AGAIN = 2

/** @param options.behindProxy the addresses are of proxies, which choose gateways themselves: all of them are always used. */
export function createKeepAliveClient(
  urls: readonly string[],
  { behindProxy = false }: { behindProxy?: boolean } = {},
): KeepAliveClient {
  const gateways = urls.map((url) => ({
    url,
    isReady: true,
    isOut: false,
    pool: new HttpAgent({ keepAlive: true, maxSockets: CONNECTIONS }),
  }))
  let turn = 0
  let stopped = false
  const asking = gateways.map(async (gateway) => {
    while (!stopped && !behindProxy) {
      gateway.isReady = await isReady(gateway.url)
      await sleep(ASK_MS)
    }
  })
  const ready = (): typeof gateways => gateways.filter(({ isReady, isOut }) => isReady && !isOut)

  return {
    async call(agent, outgoing) {
      for (let again = 0; ; again += 1) {
        turn += 1
        // on a busy machine, both gateways may become ready late
        const left = await eventually(() => ready().length > 0 && ready(), { what: 'a gateway being ready' })
        const gateway = left[turn % left.length]
        if (gateway === undefined) throw new Error('one is ready')
        try {
          return { ...(await send(agent, outgoing, gateway.url, gateway.pool)), again: again > 0 }
        } catch (error) {
          if (!(error instanceof ClosedBefore) || again === MAX_AGAIN) throw error
        }
      }
    },
    ready: () => ready().map(({ url }) => url),
    async without(url, work) {
      const gateway = gateways.find((one) => one.url === url)
      if (gateway === undefined) throw new RangeError(`there is no gateway at ${url}`)
      gateway.isOut = true
      try {
        return await work()
      } finally {
        gateway.isOut = false
      }
    },
    async [Symbol.asyncDispose]() {
      stopped = true
      await Promise.all(asking)
      for (const { pool } of gateways) pool.destroy()
    },
  }
}

function isReady(url: string): Promise<boolean> {
  return fetch(`${url}/v2/health`, { signal: AbortSignal.timeout(2_000) }).then(
    async (response) => {
      await response.arrayBuffer()
      return response.ok
    },
    () => false,
  )
}

class ClosedBefore extends Error {}

function send(agent: Agent, { method, target, body }: Outgoing, url: string, pool: HttpAgent): Promise<HttpAnswer> {
  const text = body === undefined ? undefined : JSON.stringify(body)
  // Each attempt is signed anew, because the nonce may already have been consumed.
  const { authority } = agent.place
  const signed = signRequest(agent.key, {
    authority,
    method,
    target,
    body: text === undefined ? undefined : Buffer.from(text),
  })
  const headers = text === undefined ? signed : { ...signed, 'content-type': 'application/json' }
  return new Promise((resolve, reject) => {
    const request = httpRequest(new URL(target, url), { method, agent: pool, headers }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const answer = Buffer.concat(chunks).toString()
        const received = new Headers(Object.entries(response.headers).map(([name, value]) => [name, String(value)]))
        const type = response.headers['content-type'] ?? ''
        // a proxy answers with HTML
        const body = type.startsWith('application/json') ? JSON.parse(answer) : undefined
        resolve({ status: response.statusCode ?? 0, headers: received, text: answer, body })
      })
    })
    request.on('error', (error: Failure) => {
      // the server closed the idle connection while the request was on its way
      if (request.reusedSocket && ['ECONNRESET', 'EPIPE'].includes(error.code ?? '')) reject(new ClosedBefore())
      else reject(new Error(`${method} ${target}: ${error.code}`, { cause: error }))
    })
    request.end(text)
  })
}
