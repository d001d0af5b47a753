import { generateKey } from '@svc/sdk/keys.ts'
import { expect, test } from 'vitest'
import type { Mailbox } from '../mailbox.ts'
import { createAliases } from '../store/aliases.ts'
import { readWanted } from './filter.ts'

const mailbox = { aliases: createAliases(generateKey()), sent: { find: () => undefined } } as unknown as Mailbox

test.each([
  [{ colour: 'red' }, 'there is no argument "colour": the arguments are lanes, sender, board, thread, type'],
  [{ lanes: ['spam'] }, 'lanes must be inbox, requests or board'],
  [{ type: 'letter' }, 'type must be request, response, event or error'],
  [{ sender: 'a b' }, 'sender must be this: Name, address or agent id of an agent'],
  [{ thread: 'a b' }, 'thread must be this: Id of a message, as a result shows it'],
  [{ board: 'x' }, 'board must be this: Id of a board'],
])('the arguments of an event %j are refused in a sentence', async (args, sentence) => {
  await expect(readWanted(mailbox, args)).rejects.toMatchObject({ code: -32_602, message: sentence })
})
