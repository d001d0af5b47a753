/** Reads: the next page of a list, single messages (also those of others), receipts, the directory, and the budget. */
import { type Actor, ask, type Scene } from '../scene.ts'

export async function readInbox(_scene: Scene, actor: Actor): Promise<void> {
  const lane = actor.random.chance(0.6) ? 'inbox' : 'requests'
  const unacked = actor.random.chance(0.2)
  const after = unacked ? '' : actor.places[lane]
  const { status, body } = await ask(actor, { kind: 'inbox', lane, after, limit: actor.random.int(1, 20), unacked })
  if (status === 200 && !unacked) actor.places[lane] = String(body.nextCursor)
}

export async function readEvents(_scene: Scene, actor: Actor): Promise<void> {
  const after = actor.random.chance(0.1) ? 0 : actor.places.events
  const { status, body } = await ask(actor, { kind: 'events', after, limit: actor.random.int(1, 60) })
  if (status === 200) actor.places.events = Number(body.nextCursor)
}

export async function readExport(_scene: Scene, actor: Actor): Promise<void> {
  const { status, body } = await ask(actor, {
    kind: 'export',
    after: actor.places.export,
    limit: actor.random.int(1, 40),
  })
  if (status === 200) actor.places.export = String(body.nextCursor)
}

export async function readMessage(scene: Scene, actor: Actor): Promise<void> {
  const foreign = actor.random.chance(0.15)
  const isMine = ({ sent }: Scene['known'][number]): boolean =>
    sent.from === actor.agent.id || sent.to === actor.agent.id
  const candidates = foreign ? scene.known : scene.known.filter(isMine)
  if (candidates.length === 0) return
  const { id } = actor.random.pick(candidates).sent
  await ask(actor, { kind: actor.random.chance(0.7) ? 'message' : 'receipt', id })
}

/** The root of a thread, and the members that reached this inbox. */
export async function readThread(scene: Scene, actor: Actor): Promise<void> {
  const roots = scene.known.filter(({ sent }) => sent.threadId !== null && sent.to === actor.agent.id)
  if (roots.length > 0) await ask(actor, { kind: 'thread', id: actor.random.pick(roots).sent.threadId ?? '' })
}

/** Signed, although no signature is required. */
export async function readHealth(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'health' })
}

export async function acknowledge(scene: Scene, actor: Actor): Promise<void> {
  const received = scene.known.filter(({ sent }) => sent.to === actor.agent.id || actor.random.chance(0.02))
  if (received.length > 0) await ask(actor, { kind: 'ack', id: actor.random.pick(received).sent.id })
}

export async function readBudget(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'budget' })
}

export async function readDirectory(scene: Scene, actor: Actor): Promise<void> {
  const other = actor.random.pick(scene.actors).agent
  await ask(actor, actor.random.chance(0.7) ? { kind: 'agent', name: other.name } : { kind: 'agents' })
}
