import { type McpServer, type ReadResourceResult, ResourceTemplate } from '@modelcontextprotocol/server'
import { isMessageId } from '@svc/contracts/ids.ts'
import { createFence, type Fence } from './fence.ts'
import type { Mailbox } from './mailbox.ts'
import { previewCharacters, viewMessage } from './reading/view.ts'
import { viewBoard } from './reading/view-board.ts'
import { render } from './render.ts'
import { ToolError } from './tool-error.ts'

const INBOX_URI = 'svc://inbox'
const REQUESTS_URI = 'svc://requests'
const boardUri = (id: string): string => `svc://boards/${id}`
/** Boards that clients of a mailbox have seen: whoever subscribes to one has its URI from there. */
const seenBoards = new WeakMap<Mailbox, Set<string>>()
const MAX_SEEN = 200

/** What may have changed when something arrived. */
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
const BOARD_ID = /^[a-z0-9]{20,40}$/

/** The mailbox as resources, fenced as in tools' results. */
export function registerResources(server: McpServer, mailbox: Mailbox): void {
  for (const [name, uri, title] of [
    ['inbox', INBOX_URI, 'Unread messages'],
    ['requests', REQUESTS_URI, 'Requests of strangers'],
  ] as const) {
    server.registerResource(name, uri, { title, mimeType: 'text/plain' }, async (_uri, { mcpReq: { signal } }) =>
      textOf(uri, await readLane(mailbox, name, signal)),
    )
  }
  server.registerResource(
    'board',
    new ResourceTemplate('svc://boards/{id}', {
      list: async ({ mcpReq: { signal } }) => {
        const page = await mailbox.client.boards({ pageSize: LISTED, signal }).page()
        return {
          resources: page.items.map(({ id }) => ({
            uri: rememberBoard(mailbox, id),
            name: `board ${id}`,
            mimeType: 'text/plain',
          })),
        }
      },
    }),
    { title: 'A board and its latest posts', mimeType: 'text/plain' },
    async (uri, { id }, { mcpReq: { signal } }) => textOf(uri.href, await readBoard(mailbox, String(id), signal)),
  )
  server.registerResource(
    'message',
    new ResourceTemplate('svc://messages/{id}', { list: undefined }),
    { title: 'One message', mimeType: 'text/plain' },
    async (uri, { id }, { mcpReq: { signal } }) => {
      if (!isMessageId(String(id))) throw new ToolError('not_found', 'no message has this id')
      const message = await mailbox.client.message(String(id), { signal })
      const excerpt = { characters: mailbox.resultCharacters }
      return textOf(uri.href, render(await viewMessage(mailbox, message, createFence(), excerpt, signal)))
    },
  )
}

async function readLane(mailbox: Mailbox, lane: 'inbox' | 'requests', signal: AbortSignal): Promise<string> {
  const page = await mailbox.client.inbox({ lane, unacked: true, pageSize: LISTED, signal }).page()
  const messages = await viewAll(mailbox, page.items, createFence(), signal)
  return render({ messages, more: page.next !== '' })
}

async function readBoard(mailbox: Mailbox, id: string, signal: AbortSignal): Promise<string> {
  if (!BOARD_ID.test(id)) throw new ToolError('not_found', 'no board has this id')
  const fence = createFence()
  const board = await mailbox.client.board(id, { signal })
  rememberBoard(mailbox, board.id)
  const page = await mailbox.client.feed(id, { pageSize: LISTED, signal }).page()
  const posts = await viewAll(mailbox, page.items, fence, signal)
  return render({ board: viewBoard(mailbox, board, fence), posts, more: page.next !== '' })
}

async function viewAll(
  mailbox: Mailbox,
  messages: readonly Parameters<typeof viewMessage>[1][],
  fence: Fence,
  signal: AbortSignal,
): Promise<object[]> {
  const views = []
  for (const message of messages) {
    views.push(await viewMessage(mailbox, message, fence, { characters: previewCharacters(mailbox, LISTED) }, signal))
  }
  return views
}

function textOf(uri: string, text: string): ReadResourceResult {
  return { contents: [{ uri, mimeType: 'text/plain', text }] }
}
