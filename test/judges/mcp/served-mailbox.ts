import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { Agent, type Place } from '../../support/client/agent.ts'
import { findSvc } from '../../support/run/svc.ts'

/** `svc mcp` for a new agent, as a client on this machine would start it, over HTTP and over stdio. */
export interface ServedMailbox extends AsyncDisposable {
  readonly name: string
  /** Of the running `svc mcp --http`. */
  readonly url: string
  readonly token: string
  /** A loopback address in front of `url` that adds the token, for judges that cannot send a header. */
  readonly openUrl: string
  /** The command of `svc mcp` over stdio, for the same key. */
  readonly command: readonly [program: string, ...args: string[]]
}

export async function serveMailbox(place: Place): Promise<ServedMailbox> {
  await using stack = new AsyncDisposableStack()
  const { name } = new Agent(place)
  const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-judge-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const args = [await findSvc(), 'mcp', '--key', join(folder, 'key'), '--url', place.url, '--allow-strangers']
  const child = spawn(process.execPath, [...args, '--register', name, '--http', '0'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  stack.defer(() => stop(child))
  const { url, tokenFile } = await ready(child.stderr)
  const token = readFileSync(tokenFile, 'utf8').trim()
  const proxy = stack.use(await startTokenProxy(url, token))
  const started = stack.move()
  return {
    name,
    url,
    token,
    openUrl: proxy.url,
    command: [process.execPath, ...args],
    [Symbol.asyncDispose]: () => started.disposeAsync(),
  }
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return
  child.kill()
  await once(child, 'exit')
}

async function ready(log: Readable): Promise<{ url: string; tokenFile: string }> {
  const lines: string[] = []
  for await (const line of createInterface({ input: log })) {
    lines.push(line)
    if (!line.includes('"http.ready"')) continue
    log.resume()
    return JSON.parse(line) as { url: string; tokenFile: string }
  }
  throw new Error(`svc mcp has ended: ${lines.join('\n')}`)
}

/** Passes on everything as it is, `Host` and `Origin` too, with one more header. */
async function startTokenProxy(target: string, token: string): Promise<AsyncDisposable & { url: string }> {
  const { port, pathname } = new URL(target)
  const server = createServer((incoming, answer) => {
    const { method, url: path, headers } = incoming
    const asked = request({
      host: '127.0.0.1',
      port,
      method,
      path,
      headers: { ...headers, authorization: `Bearer ${token}` },
    })
    asked.on('response', (response) => {
      answer.writeHead(response.statusCode ?? 502, response.rawHeaders)
      response.pipe(answer)
    })
    asked.on('error', () => answer.destroy())
    answer.on('close', () => asked.destroy())
    incoming.pipe(asked)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
