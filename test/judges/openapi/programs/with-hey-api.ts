import { createClient } from './hey-api/client/index.ts'
import {
  ackMessage,
  createBoard,
  getAgent,
  getBudget,
  getReceipt,
  listInbox,
  sendMessage,
  updateMe,
} from './hey-api/sdk.gen.ts'
import type { Agent } from './hey-api/types.gen.ts'
import type { Conversation, Party } from './party.ts'

/** Alice writes to bob, and bob reads and acknowledges, with the functions that the description gives. */
export default async function converse(baseUrl: string, alice: Party, bob: Party): Promise<Conversation> {
  const clientOf = (party: Party) =>
    createClient({ baseUrl, fetch: (input, init) => party.fetch(new Request(input, init)) })
  const [writer, reader] = [clientOf(alice), clientOf(bob)]
  const settings = await updateMe({ client: reader, body: { inbox_policy: 'open' } })
  const found = await getAgent({ client: writer, path: { name: bob.name } })
  if (settings.data === undefined || found.data === undefined) throw new Error('bob is not there')
  const agent: Agent = found.data
  const sent = await sendMessage({ client: writer, body: alice.compose(settings.data.address, { text: 'hello' }) })
  if (sent.data === undefined) throw new Error(`not sent: ${sent.error.error.code}`)
  const inbox = await listInbox({ client: reader, query: { lane: 'inbox', unacked: true, limit: 10 } })
  const [message] = inbox.data?.messages ?? []
  if (message === undefined || agent.name !== bob.name) throw new Error('nothing has arrived')
  const id = sent.data.msg_id
  await ackMessage({ client: reader, path: { id } })
  const receipt = await getReceipt({ client: writer, path: { id } })
  const budget = await getBudget({ client: writer })
  const board = await createBoard({ client: writer, body: { title: 'News', visibility: 'public' } })
  const absent = await getAgent({ client: writer, path: { name: 'no-such-agent' } })
  return {
    address: settings.data.address,
    lane: message.lane,
    received: 'body' in message.envelope ? message.envelope.body : undefined,
    status: receipt.data?.status ?? 'none',
    usedUnits: budget.data?.used_units ?? -1,
    boardTitle: board.data?.title ?? 'none',
    refusal: absent.error?.error.code === 'not_found' ? 'not_found' : 'other',
  }
}
