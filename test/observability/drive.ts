/** Makes the system do everything that it can do, with successes and failures. */
import { connect } from 'node:net'
import { checkWork } from '@svc/svc1/pow.ts'
import { Agent, call } from '../support/client/agent.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { openEventStream } from '../support/client/event-stream.ts'
import { eventually } from '../support/eventually.ts'
import type { WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'
import type { Harness } from '../support/system/harness.ts'

export interface Driven {
  /** The request that sent a direct message to an agent with a stream and a webhook. */
  readonly sentRequestId: string
  /** Ids of agents, messages and boards. */
  readonly ids: readonly string[]
}

interface DriveOptions {
  readonly h: Harness
  readonly receiver: WebhookReceiver
  /** Text in every body. */
  readonly mark: string
  readonly webhookSecret: string
}

export async function driveAll({ h, receiver, mark, webhookSecret }: DriveOptions): Promise<Driven> {
  const [alice, bob, carol] = await h.agents(3)
  await bob.patch('/v2/me', { inbox_policy: 'open' })
  receiver.answer('/bob', 204)
  receiver.answer('/carol', 500)
  await bob.put('/v2/webhook', { url: receiver.urlFor('/bob'), secret: webhookSecret })
  await carol.put('/v2/webhook', { url: receiver.urlFor('/carol'), secret: webhookSecret })
  await carol.patch('/v2/me', { inbox_policy: 'open' })
  using stream = await openEventStream(bob)
  await stream.until('cursor')

  const envelope = alice.envelope(bob, mark)
  const sent = await alice.post('/v2/messages', envelope)
  if (sent.status !== 202) throw new Error(`not accepted: ${sent.status} ${sent.text}`)
  await alice.post('/v2/messages', envelope)
  await alice.send(carol, mark)
  await stream.until('message')
  await bob.call('POST', `/v2/messages/${envelope.id}/ack`)
  await read(bob, ['/v2/me', '/v2/inbox', '/v2/events', '/v2/export', '/v2/contacts', '/v2/budget', '/v2/webhook'])
  await read(alice, [`/v2/messages/${envelope.id}`, `/v2/messages/${envelope.id}/receipts`])
  await read(alice, ['/v2/agents', `/v2/agents/${bob.name}`])
  await bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' })
  const board = await driveBoard(alice, bob, mark)
  for (const path of ['/v2/health', '/.well-known/agent.json', '/openapi.json', '/docs'])
    await call(h.place, 'GET', path)
  await driveBadly(h, { alice, bob, carol, envelope, mark })
  await eventually(() => receiver.at('/bob').length > 0 && receiver.at('/carol').length > 4, {
    what: 'the webhooks being delivered, and failing',
  })
  await carol.call('DELETE', '/v2/webhook')
  await carol.post('/v2/me/revoke', { confirm_agent_id: carol.id })
  const ids = [alice, bob, carol].flatMap(({ id, name }) => [id, name])
  return { sentRequestId: String(sent.headers.get('x-request-id')), ids: [...ids, String(envelope.id), board] }
}

async function read(agent: Agent, paths: readonly string[]): Promise<void> {
  for (const path of paths) await agent.get(path)
}

async function driveBoard(alice: Agent, bob: Agent, mark: string): Promise<string> {
  const board = await newBoard(alice)
  await subscribe(bob, board)
  const post = await alice.send(`board:${board}`, mark)
  const postId = post.body.msg_id as string
  await bob.put(`/v2/messages/${postId}/vote`)
  await bob.call('DELETE', `/v2/messages/${postId}/vote`)
  await read(bob, [`/v2/boards/${board}`, `/v2/boards/${board}/messages`, '/v2/boards'])
  await read(alice, [`/v2/boards/${board}/members`])
  await alice.put(`/v2/boards/${board}/messages/${postId}/visibility`, { hidden: true })
  return board
}

interface Scene {
  readonly alice: Agent
  readonly bob: Agent
  readonly carol: Agent
  readonly envelope: object
  readonly mark: string
}

/** Causes many kinds of refusal. Most of the refused requests contain the mark. */
async function driveBadly(h: Harness, { alice, bob, carol, envelope, mark }: Scene): Promise<void> {
  await alice.post('/v2/messages', `{"body":"${mark}" ${mark}`)
  await alice.post('/v2/messages', { ...envelope, body: `${mark} changed` })
  await alice.post('/v2/messages', { ...envelope, unknown: mark })
  await alice.post('/v2/messages', envelope, { sign: { body: Buffer.from('another') } })
  await alice.post('/v2/messages', envelope, { sign: { timestamp: 1 } })
  await alice.post('/v2/messages', alice.envelope(bob, mark.repeat(3_000)))
  await alice.put(`/v2/contacts/${mark}`, { state: mark })
  await alice.get(`/v2/inbox?after=${mark}`)
  await alice.get(`/v2/${mark}`)
  const stranger = new Agent(h.place)
  await stranger.get('/v2/me')
  const { challenge } = await stranger.solve()
  await stranger.post('/v2/agents/register', {
    name: stranger.name,
    pubkey: stranger.pubkey,
    challenge,
    nonce: noWorkFor(challenge, mark),
  })
  // Use up the day's units.
  for (let sent = 0; sent < 20; sent += 1) await carol.send(bob, mark)
  await sendGarbage(h.place.url, mark)
}

/** Tries nonces until one fails the lowest difficulty, because a fixed nonce could solve the challenge by luck. */
function noWorkFor(challenge: string, mark: string): string {
  for (let at = 0; ; at += 1) {
    const nonce = `${mark}-is-no-work-${at}`
    if (!checkWork(challenge, nonce, 1)) return nonce
  }
}

/** Bytes that are not HTTP. */
async function sendGarbage(url: string, mark: string): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.on('error', () => {})
  socket.resume()
  socket.end(`${mark}\r\n\r\n`)
  await closed
}
