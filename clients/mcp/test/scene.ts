import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type CallToolResult, Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import type { SendResult } from '@svc/contracts/resources.ts'
import type { SignedEnvelope } from '@svc/envelope/envelope.ts'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import type { Draft } from '@svc/sdk/messages/compose.ts'
import { findSvc } from '@svc/test/support/run/svc.ts'

const SVC = await findSvc()

// biome-ignore lint/suspicious/noExplicitAny: a test knows what it reads
export type Fields = Record<string, any>

/** The transport of a client, and the family of its protocol version. */
export type Way = 'stdio' | 'stdio 2026' | 'http' | 'http 2026'
export const WAYS: readonly Way[] = ['stdio', 'stdio 2026', 'http', 'http 2026']

/** The person at the client: the answer, and the questions so far. */
interface Person {
  answer: 'accept' | 'decline' | 'leave unticked'
  readonly asked: string[]
}

export interface TestClient extends AsyncDisposable {
  readonly client: Client
  /** Calls a tool. @returns its structured content. @throws if the result is an error. */
  call(name: string, args?: Record<string, unknown>): Promise<Fields>
  /** Calls a tool, and returns its result even if it is an error. */
  result(name: string, args?: Record<string, unknown>): Promise<CallToolResult>
  readonly person: Person
}

/** The text of a result. */
export function textOf(result: CallToolResult): string {
  return result.content.map((item) => (item.type === 'text' ? item.text : '')).join('\n')
}

/** A client that can ask a person, or one that cannot. */
function createClient(way: Way, { canAsk = true }: { canAsk?: boolean } = {}): { client: Client; person: Person } {
  const person: Person = { answer: 'accept', asked: [] }
  const client = new Client(
    { name: 'test', version: '1' },
    {
      capabilities: canAsk ? { elicitation: { form: {} } } : {},
      ...(way.endsWith('2026') ? { versionNegotiation: { mode: { pin: '2026-07-28' } as const } } : {}),
    },
  )
  if (canAsk) {
    client.setRequestHandler('elicitation/create', ({ params }) => {
      person.asked.push(params.message)
      if (person.answer === 'decline') return { action: 'decline' }
      return { action: 'accept', content: { confirm: person.answer === 'accept' } }
    })
  }
  return { client, person }
}

function faceOf(client: Client, person: Person): TestClient {
  const result = (name: string, args: Record<string, unknown> = {}): Promise<CallToolResult> =>
    client.callTool({ name, arguments: args }) as Promise<CallToolResult>
  return {
    client,
    person,
    result,
    async call(name, args) {
      const answer = await result(name, args)
      if (answer.isError) throw new Error(textOf(answer))
      return answer.structuredContent as Fields
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

/** Starts `svc mcp` like the configuration of a client, and connects to it over stdio. */
export async function overStdio(
  way: Way,
  args: readonly string[],
  options: { canAsk?: boolean; onLog?: (line: string) => void } = {},
): Promise<TestClient & { kill(): void }> {
  const { client, person } = createClient(way, options)
  const transport = new StdioClientTransport({ command: process.execPath, args: [SVC, 'mcp', ...args], stderr: 'pipe' })
  transport.stderr?.on('data', (chunk: Buffer) => options.onLog?.(chunk.toString()))
  await client.connect(transport)
  return Object.assign(faceOf(client, person), { kill: () => process.kill(transport.pid ?? 0, 'SIGKILL') })
}

/** Connects to a running server over HTTP. */
export async function overHttp(
  way: Way,
  url: string,
  token: string,
  options: { canAsk?: boolean } = {},
): Promise<TestClient> {
  const { client, person } = createClient(way, options)
  const requestInit = { headers: { authorization: `Bearer ${token}` } }
  await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }))
  return faceOf(client, person)
}

/** Sends a message as older programs do: it names its sender by id. */
export async function sendById(client: AgentClient, draft: Draft): Promise<SendResult> {
  const { key } = client
  if (key === undefined) throw new TypeError('the client has no key')
  const { sig: _, ...envelope } = (await client.compose(draft)) as SignedEnvelope
  return client.post(signEnvelope({ ...envelope, from: key.agentId }, key.secretKey))
}

/** A folder that is removed when the test ends. */
export function temporaryFolder(): Disposable & { path(name: string): string } {
  const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-'))
  return {
    path: (name) => join(folder, name),
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}
