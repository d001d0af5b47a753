/** A proxy in front of a gateway. It records every request, and tests can inject faults into single requests. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ERRORS, type ErrorCode } from '@svc/contracts/errors.ts'

/** A fault that is injected into one request. */
export type Fault =
  /** Answers with this error. The gateway does not see the request. */
  | { kind: 'refuse'; code: ErrorCode; retryAfterSeconds?: number }
  /** Answers with exactly this. The gateway does not see the request. */
  | { kind: 'answer'; status: number; body: string; headers?: Record<string, string> }
  /** Cuts the connection. The gateway does not see the request. */
  | { kind: 'cut' }
  /** Passes the request on, then cuts the connection instead of answering. */
  | { kind: 'lose' }
  /** Passes the request on twice, and gives the second answer. */
  | { kind: 'double' }
  /** Never answers. The gateway does not see the request. */
  | { kind: 'hang' }

interface SeenRequest {
  readonly method: string
  readonly target: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}

export interface FaultProxy extends AsyncDisposable {
  readonly url: string
  /** Every request in order of arrival, including those with an injected fault. */
  readonly requests: SeenRequest[]
  /** Injects these faults, in this order, into the next requests whose `<METHOD> <path>` begins with the given text. */
  meet(prefix: string, ...faults: Fault[]): void
  /** Changes a message in every later answer, as a hostile service could. */
  tamper(id: string, change: (envelope: Record<string, unknown>) => void): void
  /** Cuts every open stream. */
  dropStreams(): void
}

interface Answer {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly body: Buffer
}

/** @param target the URL of a gateway. */
export async function startFaultProxy(target: string): Promise<FaultProxy> {
  const requests: SeenRequest[] = []
  const faults: { prefix: string; fault: Fault }[] = []
  const changes = new Map<string, (envelope: Record<string, unknown>) => void>()
  const streams = new Set<ServerResponse>()

  const server = createServer((incoming, outgoing) => void relay(incoming, outgoing))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    meet: (prefix, ...list) => void faults.push(...list.map((fault) => ({ prefix, fault }))),
    tamper: (id, change) => void changes.set(id, change),
    dropStreams() {
      for (const response of streams) response.destroy()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }

  async function relay(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const body = Buffer.concat(await incoming.toArray())
    const { method = '', url = '', headers } = incoming
    const seen = { method, target: url, headers, body: body.toString() }
    requests.push(seen)
    const index = faults.findIndex(({ prefix }) => `${method} ${url}`.startsWith(prefix))
    const fault = index < 0 ? undefined : faults.splice(index, 1)[0]?.fault
    if (fault?.kind === 'hang') return
    if (fault?.kind === 'refuse') {
      const { code, retryAfterSeconds } = fault
      const { status, message } = ERRORS[code]
      if (retryAfterSeconds !== undefined) outgoing.setHeader('retry-after', retryAfterSeconds)
      outgoing.writeHead(status, { 'content-type': 'application/json', 'x-request-id': '0'.repeat(32) })
      outgoing.end(JSON.stringify({ error: { code, message } }))
    } else if (fault?.kind === 'answer') {
      outgoing.writeHead(fault.status, fault.headers).end(fault.body)
    } else if (fault?.kind === 'cut') {
      incoming.socket.destroy()
    } else {
      await pass(seen, body, outgoing, fault)
    }
  }

  async function pass(seen: SeenRequest, body: Buffer, outgoing: ServerResponse, fault?: Fault): Promise<void> {
    const { method, target: path, headers } = seen
    const ask = async (): Promise<IncomingMessage> => {
      const upstream = request(target + path, { method, headers: { ...headers, 'accept-encoding': 'identity' } }).end(
        body,
      )
      outgoing.on('close', () => upstream.destroy())
      const [answer] = (await once(upstream, 'response')) as [IncomingMessage]
      return answer
    }
    try {
      if (fault?.kind === 'double') await read(await ask())
      const answer = await ask()
      const isStream = answer.headers['content-type']?.startsWith('text/event-stream') === true
      if (isStream) await stream(answer, outgoing)
      else if (fault?.kind === 'lose') {
        await read(answer)
        outgoing.destroy()
      } else {
        const { status, headers: sent, body: got } = await read(answer)
        const changed = changes.size === 0 ? got : Buffer.from(tampered(got.toString()))
        outgoing.writeHead(status, { ...sent, ...('content-length' in sent && { 'content-length': changed.length }) })
        outgoing.end(changed)
      }
    } catch {
      outgoing.destroy()
    }
  }

  async function stream(answer: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    streams.add(outgoing)
    outgoing.on('close', () => streams.delete(outgoing))
    outgoing.writeHead(200, answer.headers)
    outgoing.flushHeaders()
    let rest = ''
    for await (const chunk of answer.setEncoding('utf8')) {
      const lines = (rest + String(chunk)).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines)
        outgoing.write(`${line.startsWith('data: ') ? `data: ${tampered(line.slice(6))}` : line}\n`)
    }
    outgoing.end(rest)
  }

  function tampered(text: string): string {
    if (!text.startsWith('{') || ![...changes.keys()].some((id) => text.includes(id))) return text
    return JSON.stringify(JSON.parse(text), (_, value: Record<string, unknown> | null) => {
      const change = value?.from === undefined ? undefined : changes.get(String(value.id))
      const copy = { ...value }
      change?.(copy)
      return change === undefined ? value : copy
    })
  }
}

async function read(answer: IncomingMessage): Promise<Answer> {
  const body = Buffer.concat(await answer.toArray())
  return { status: answer.statusCode ?? 502, headers: answer.headers, body }
}
