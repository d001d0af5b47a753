import createClient from 'openapi-fetch'
import type { components, paths } from './openapi-types.ts'
import type { Conversation, Party } from './party.ts'

type Schemas = components['schemas']

/** Alice writes to bob, and bob reads and acknowledges, with the client that the description gives. */
export default async function converse(baseUrl: string, alice: Party, bob: Party): Promise<Conversation> {
  const [writer, reader] = [alice, bob].map(({ fetch }) => createClient<paths>({ baseUrl, fetch }))
  if (writer === undefined || reader === undefined) throw new Error('two clients were made')
  const settings = await reader.PATCH('/v2/me', { body: { inbox_policy: 'open' } })
  const found = await writer.GET('/v2/agents/{name}', { params: { path: { name: bob.name } } })
  if (settings.data === undefined || found.data === undefined) throw new Error('bob is not there')
  const agent: Schemas['Agent'] = found.data
  const sent = await writer.POST('/v2/messages', { body: alice.compose(settings.data.address, { text: 'hello' }) })
  if (sent.data === undefined) throw new Error(`not sent: ${sent.error.error.code}`)
  const inbox = await reader.GET('/v2/inbox', { params: { query: { lane: 'inbox', unacked: true, limit: 10 } } })
  const [message] = inbox.data?.messages ?? []
  if (message === undefined || agent.name !== bob.name) throw new Error('nothing has arrived')
  const id = sent.data.msg_id
  await reader.POST('/v2/messages/{id}/ack', { params: { path: { id } } })
  const receipt = await writer.GET('/v2/messages/{id}/receipts', { params: { path: { id } } })
  const budget = await writer.GET('/v2/budget')
  const board = await writer.POST('/v2/boards', { body: { title: 'News', visibility: 'public' } })
  const absent = await writer.GET('/v2/agents/{name}', { params: { path: { name: 'no-such-agent' } } })
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
