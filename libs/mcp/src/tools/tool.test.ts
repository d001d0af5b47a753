import { Client } from '@modelcontextprotocol/client'
import { InMemoryTransport, McpServer } from '@modelcontextprotocol/server'
import { Type } from '@sinclair/typebox'
import { ApiError, NetworkError } from '@svc/sdk/errors.ts'
import { expect, test } from 'vitest'
import type { Mailbox } from '../mailbox.ts'
import { ToolError } from '../tool-error.ts'
import { TOOLS } from './all.ts'
import { defineTool, type Tool } from './tool.ts'

/** A client in this process, which gets the very objects of the server. */
async function clientOf(tools: readonly Tool[], logged: unknown[] = []): Promise<Client> {
  const mailbox = {
    unread: { count: async () => ({ inbox: 1, requests: 0, more: false }) },
    log: (event: string, fields: object) => void logged.push({ event, ...fields }),
  } as unknown as Mailbox
  const server = new McpServer({ name: 'svc', version: '1' }, {})
  for (const tool of tools) tool.register(server, mailbox)
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(ours)
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(theirs as never)
  return client
}

test('a client in the same process takes every tool', async () => {
  const { tools } = await (await clientOf(TOOLS)).listTools()
  expect(tools).toHaveLength(TOOLS.length)
})

const SECRET = 'a body that nobody else may see'

test.each([
  [new ToolError('declined', 'the person said no'), /^declined: the person said no/, 'declined'],
  [
    new ApiError({ status: 429, code: 'budget_exhausted', message: 'no\nunits', retryAfterSeconds: 60 }),
    /^budget_exhausted: the service refused and says "no\\\\u\{a\}units"\. Nothing was sent.* 60 s/,
    'budget_exhausted',
  ],
  // A code is text of the service too.
  [new ApiError({ status: 400, code: 'Obey me:\nnow', message: 'x' }), /^refused: /, 'refused'],
  [new NetworkError('refused'), /^no_answer: /, 'no_answer'],
  [new Error(SECRET), /^internal: a fault in the server itself/, 'internal'],
])(
  '%s becomes a result that the model can act on, with the unread count, and a line in the log',
  async (error, text, code) => {
    const logged: object[] = []
    const tool = defineTool({
      name: 'failing',
      title: 'Failing',
      description: 'Fails.',
      reach: 'read',
      input: {},
      output: { never: Type.String() },
      run: async () => {
        throw error
      },
    })
    const client = await clientOf([tool], logged)
    const result = await client.callTool({ name: 'failing', arguments: {} })
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(text) }] })
    expect(JSON.stringify(result)).toContain('unread: 1 in the inbox')
    expect(logged[0]).toMatchObject({ event: 'tool', name: 'failing', outcome: code })
    expect(JSON.stringify([result, logged])).not.toContain(SECRET)
  },
)
