/** The mailbox as a host starts it. */
import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { environment } from './installed.ts'

const REQUESTS: readonly [method: string, params: object][] = [
  ['initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }],
  ['tools/list', {}],
  ['tools/call', { name: 'whoami', arguments: {} }],
]

/**
 * Starts the server, introduces itself, and asks for the tools and for the agent.
 * @returns the results by method. @throws Error with what the server wrote, if it ends before.
 */
export async function startMailbox(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Readonly<Record<string, string>> = {},
): Promise<Record<string, unknown>> {
  const server = spawn(command, args, { cwd, env: { ...environment(), ...env } })
  const complaints = text(server.stderr)
  for (const [id, [method, params]] of REQUESTS.entries()) {
    server.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`)
    if (method === 'initialize') server.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
  }
  const results: Record<string, unknown> = {}
  let rest = ''
  // Not with `readline`, which takes U+2028 for the end of a line.
  for await (const piece of server.stdout.setEncoding('utf8')) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      const { id, result } = JSON.parse(line) as { id?: number; result?: unknown }
      const [method] = REQUESTS[id ?? -1] ?? []
      if (method !== undefined) results[method] = result
    }
    if (Object.keys(results).length === REQUESTS.length) server.stdin.end()
  }
  if (Object.keys(results).length < REQUESTS.length) throw new Error(await complaints)
  return results
}
