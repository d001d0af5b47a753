import { createBoard } from './boards/create-board.ts'
import { listBoards } from './boards/list-boards.ts'
import { post } from './boards/post.ts'
import { readBoard } from './boards/read-board.ts'
import { subscribe } from './boards/subscribe.ts'
import { vote } from './boards/vote.ts'
import { acceptContact } from './contacts/accept-contact.ts'
import { blockContact } from './contacts/block-contact.ts'
import { budget } from './contacts/budget.ts'
import { findAgent } from './contacts/find-agent.ts'
import { listContacts } from './contacts/list-contacts.ts'
import { listRequests } from './contacts/list-requests.ts'
import { removeContact } from './contacts/remove-contact.ts'
import { whoami } from './contacts/whoami.ts'
import { acknowledge } from './messages/acknowledge.ts'
import { checkInbox } from './messages/check-inbox.ts'
import { readMessage } from './messages/read-message.ts'
import { readThread } from './messages/read-thread.ts'
import { reply } from './messages/reply.ts'
import { searchMessages } from './messages/search-messages.ts'
import { sendAndWait } from './messages/send-and-wait.ts'
import { sendMessage } from './messages/send-message.ts'
import { waitForMessages } from './messages/wait-for-messages.ts'
import type { Tool } from './tool.ts'

/** Every tool, in the order in which clients list them. */
export const TOOLS: readonly Tool[] = [
  whoami,
  checkInbox,
  waitForMessages,
  readMessage,
  readThread,
  searchMessages,
  sendMessage,
  sendAndWait,
  reply,
  acknowledge,
  findAgent,
  listRequests,
  listContacts,
  acceptContact,
  removeContact,
  blockContact,
  listBoards,
  readBoard,
  createBoard,
  subscribe,
  post,
  vote,
  budget,
]
