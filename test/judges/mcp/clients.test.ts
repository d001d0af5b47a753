/**
 * Clients of the Model Context Protocol that others wrote, against `svc mcp`: both generations of the official client, over both
 * transports, and @ai-sdk/mcp. Each writes to an agent, gets the answer, and is told of an error.
 */
import { createMCPClient } from '@ai-sdk/mcp'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { Client as OldClient } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport as OldStdioTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as OldHttpTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { beforeAll, expect, test } from 'vitest'
import { got } from '../../support/client/answers.ts'
import { eventually } from '../../support/eventually.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'
import { type ServedMailbox, serveMailbox } from './served-mailbox.ts'

let h: SharedHarness
let mailbox: ServedMailbox
beforeAll(async () => {
  await using stack = new AsyncDisposableStack()
  h = stack.use(await shareHarness('roomy'))
  mailbox = stack.use(await serveMailbox(h.place))
  const started = stack.move()
  return () => started.disposeAsync()
})

interface Result {
  content?: unknown
  structuredContent?: unknown
  isError?: boolean | undefined
}

/** What the clients have in common. */
interface Connected {
  tools(): Promise<readonly string[]>
  call(name: string, args: Record<string, unknown>): Promise<Result>
  close(): Promise<unknown>
}

const INFO = { name: 'judge', version: '1' }
const requestInit = () => ({ headers: { authorization: `Bearer ${mailbox.token}` } })
const stdio = () => {
  const [command, ...args] = mailbox.command
  return { command, args, stderr: 'ignore' as const }
}

async function connectNew(
  transport: StreamableHTTPClientTransport | StdioClientTransport,
  pin?: '2026-07-28',
): Promise<Connected> {
  const client = new Client(INFO, pin === undefined ? {} : { versionNegotiation: { mode: { pin } } })
  await client.connect(transport)
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  }
}

async function connectOld(transport: OldHttpTransport | OldStdioTransport): Promise<Connected> {
  const client = new OldClient(INFO)
  await client.connect(transport as Parameters<OldClient['connect']>[0])
  return {
    tools: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: async (name, args) => (await client.callTool({ name, arguments: args })) as Result,
    close: () => client.close(),
  }
}

async function connectAiSdk(): Promise<Connected> {
  const { headers } = requestInit()
  const client = await createMCPClient({ transport: { type: 'http', url: mailbox.url, headers } })
  const tools = await client.tools()
  return {
    tools: async () => Object.keys(tools),
    call: async (name, args) =>
      (await tools[name]?.execute?.(args, { toolCallId: 'a-call', messages: [], context: {} })) as Result,
    close: () => client.close(),
  }
}

const CLIENTS: [name: string, connect: () => Promise<Connected>][] = [
  [
    '@modelcontextprotocol/sdk over HTTP',
    () => connectOld(new OldHttpTransport(new URL(mailbox.url), { requestInit: requestInit() })),
  ],
  ['@modelcontextprotocol/sdk over stdio', () => connectOld(new OldStdioTransport(stdio()))],
  [
    '@modelcontextprotocol/client over HTTP, as it is by default',
    () => connectNew(new StreamableHTTPClientTransport(new URL(mailbox.url), { requestInit: requestInit() })),
  ],
  [
    '@modelcontextprotocol/client over HTTP, 2026-07-28',
    () =>
      connectNew(new StreamableHTTPClientTransport(new URL(mailbox.url), { requestInit: requestInit() }), '2026-07-28'),
  ],
  [
    '@modelcontextprotocol/client over stdio, 2026-07-28',
    () => connectNew(new StdioClientTransport(stdio()), '2026-07-28'),
  ],
  ['@ai-sdk/mcp', connectAiSdk],
]

test.each(CLIENTS)('%s: writes, waits for the answer, and is told of an error', async (_, connect) => {
  const [bob] = await h.agents(1)
  await got(bob.patch('/v2/me', { inbox_policy: 'open' }))
  const client = await connect()
  try {
    expect(await client.tools()).toEqual(expect.arrayContaining(['whoami', 'send_message', 'wait_for_messages']))
    const who = await client.call('whoami', {})
    expect(who.structuredContent).toMatchObject({ name: mailbox.name })
    const sent = await client.call('send_message', { to: bob.name, body: 'what is 6 × 7?' })
    expect(sent.structuredContent).toMatchObject({ status: 'accepted', sealed: true })
    const [received] = (await got(bob.get('/v2/inbox'))).body.messages
    const to = `${mailbox.name}@${h.place.authority}`
    const { body } = await got(bob.send(to, 'it is 42', { type: 'response', reply_to: received.envelope.id }))
    await eventually(async () => {
      const { structuredContent } = await client.call('check_inbox', {})
      return JSON.stringify(structuredContent).includes('it is 42')
    })
    const refused = await client.call('read_message', { message_id: 'no-such-message' })
    expect(refused.isError).toBe(true)
    expect(JSON.stringify(refused.content)).toContain('not_found')
    const done = await client.call('acknowledge', { message_ids: [body.msg_id] })
    expect(done.structuredContent).toMatchObject({ acknowledged: [body.msg_id] })
  } finally {
    await client.close()
  }
})
