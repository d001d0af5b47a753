import {
  type JsonSchemaType,
  type McpServer,
  type ReadResourceResult,
  ResourceTemplate,
} from '@modelcontextprotocol/server'
import { Type } from '@sinclair/typebox'
import type { Mailbox } from './mailbox.ts'
import { errorText, explainError } from './output/explain-error.ts'
import { createFence } from './output/fence.ts'
import { render } from './output/render.ts'
import { ToolError } from './output/tool-error.ts'
import { viewMessage, viewMessages } from './reading/view.ts'
import { viewBoard } from './reading/view-board.ts'
import { BoardId, BoardView, Id, isFitting, MessageView } from './schemas.ts'
import { type Border, createBorder } from './tools/border.ts'
import { assertFits, checkOf, jsonSchema } from './tools/json-schema.ts'

const INBOX_URI = 'svc://inbox'
const REQUESTS_URI = 'svc://requests'
const boardUri = (id: string): string => `svc://boards/${id}`
/** Boards that clients of a mailbox have seen. A client can subscribe only to the URI of a board that it has seen. */
const seenBoards = new WeakMap<Mailbox, Set<string>>()
const MAX_SEEN = 200

/** The resources that may change when something arrives. */
export function changingUris(mailbox: Mailbox): string[] {
  return [INBOX_URI, REQUESTS_URI, ...(seenBoards.get(mailbox) ?? [])]
}

function rememberBoard(mailbox: Mailbox, id: string): string {
  const seen = seenBoards.get(mailbox) ?? new Set()
  seenBoards.set(mailbox, seen)
  if (seen.size < MAX_SEEN) seen.add(boardUri(id))
  return boardUri(id)
}

const LISTED = 20
const LINK = jsonSchema({ id: Id })
const MESSAGE = jsonSchema(MessageView.properties)
const LANE = jsonSchema({ messages: Type.Array(MessageView), more: Type.Boolean() })
const BOARD = jsonSchema({ board: BoardView, posts: Type.Array(MessageView), more: Type.Boolean() })

/** Registers the mailbox as resources. Text of others is fenced as in the results of tools. */
export function registerResources(server: McpServer, mailbox: Mailbox): void {
  for (const [name, uri, title] of [
    ['inbox', INBOX_URI, 'Unread messages'],
    ['requests', REQUESTS_URI, 'Requests of strangers'],
  ] as const) {
    server.registerResource(name, uri, { title, mimeType: 'text/plain' }, async (_uri, { mcpReq: { signal } }) =>
      answered(mailbox, signal, async () => textOf(uri, await readLane(mailbox, name, signal))),
    )
  }
  server.registerResource(
    'board',
    new ResourceTemplate('svc://boards/{id}', {
      list: ({ mcpReq: { signal } }) =>
        answered(mailbox, signal, async () => {
          const page = await mailbox.client.boards({ pageSize: LISTED, signal }).page()
          const ids = page.items.map(({ id }) => id).filter((id) => isFitting(BoardId, id))
          return {
            resources: ids.map((id) => ({
              uri: rememberBoard(mailbox, id),
              name: `board ${id}`,
              mimeType: 'text/plain',
            })),
          }
        }),
    }),
    { title: 'A board and its latest posts', mimeType: 'text/plain' },
    async (uri, { id }, { mcpReq: { signal } }) =>
      answered(mailbox, signal, async () => textOf(uri.href, await readBoard(mailbox, String(id), signal))),
  )
  server.registerResource(
    'message',
    new ResourceTemplate('svc://messages/{id}', { list: undefined }),
    { title: 'One message', mimeType: 'text/plain' },
    async (uri, { id }, { mcpReq: { signal } }) =>
      answered(mailbox, signal, async () => {
        if (!isFitting(Id, id)) throw new ToolError('not_found', 'no message has this id')
        const border = createBorder(mailbox)
        const { id: messageId } = border.read(LINK, { id: String(id) })
        const message = await mailbox.client.message(messageId, { signal })
        const excerpt = { characters: mailbox.resultCharacters }
        const shown = await viewMessage(mailbox, message, { fence: createFence(), ...excerpt }, signal)
        mailbox.told.markRead([messageId])
        return textOf(uri.href, await rendered(border, MESSAGE, shown))
      }),
  )
}

async function readLane(mailbox: Mailbox, lane: 'inbox' | 'requests', signal: AbortSignal): Promise<string> {
  const page = await mailbox.client.inbox({ lane, unacked: true, pageSize: LISTED, signal }).page()
  const messages = await viewMessages(mailbox, page.items, { fence: createFence(), limit: LISTED }, signal)
  return rendered(createBorder(mailbox), LANE, { messages, more: page.next !== '' })
}

async function readBoard(mailbox: Mailbox, id: string, signal: AbortSignal): Promise<string> {
  if (!isFitting(BoardId, id)) throw new ToolError('not_found', 'no board has this id')
  const fence = createFence()
  const board = await mailbox.client.board(id, { signal })
  rememberBoard(mailbox, board.id)
  const page = await mailbox.client.feed(id, { pageSize: LISTED, signal }).page()
  const posts = await viewMessages(mailbox, page.items, { fence, boardId: id, limit: LISTED }, signal)
  return rendered(createBorder(mailbox), BOARD, {
    board: viewBoard(mailbox, board, fence),
    posts,
    more: page.next !== '',
  })
}

function textOf(uri: string, text: string): ReadResourceResult {
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}

async function rendered(border: Border, schema: JsonSchemaType, value: object): Promise<string> {
  const shown = border.show(schema, value)
  await assertFits(checkOf(schema), shown)
  return render(shown)
}

/** @throws Error with a message in this server's words, because the message goes to the client unchanged. */
async function answered<T>(mailbox: Mailbox, signal: AbortSignal, read: () => Promise<T>): Promise<T> {
  try {
    await mailbox.ready(signal)
    return await read()
  } catch (error) {
    const explained = explainError(error)
    mailbox.log('resource', { outcome: explained.code })
    throw new Error(errorText(explained, createFence()))
  }
}
