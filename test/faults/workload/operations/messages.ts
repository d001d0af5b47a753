/** Sends messages: signed and sealed, to friends and strangers, replies, retries, conflicting ids, and several at once. */
import type { Envelope } from '@svc/envelope/envelope.ts'
import type { Sent } from '../../history/calls.ts'
import { fingerprint } from '../../history/fingerprint.ts'
import type { Outcome } from '../client.ts'
import type { Actor, Known, Scene } from '../scene.ts'

/** Bodies of DMs: at most 16 KiB and 4,000 characters. The last one is too large and is refused. */
const BODY_BYTES = [
  [6, 40],
  [3, 900],
  [2, 1_500],
  [1, 3_900],
  [0.2, 4_200],
] as const
const POST_BYTES = [
  [6, 40],
  [2, 1_500],
  [1, 6_000],
] as const
const BURST = 4
/** Bodies for agents with credits. Only sealed messages may be this long. */
const DEAR = 0.4
const DEAR_BYTES = 14_000

export async function sendMessage(scene: Scene, actor: Actor): Promise<void> {
  await dispatch(actor, await composeDm(scene, actor))
}

export async function sendPost(scene: Scene, actor: Actor): Promise<void> {
  const known = composePost(scene, actor)
  if (known !== undefined) await dispatch(actor, known)
}

/**
 * Acts like two processes of one client that do not know of each other: makes several first contacts and sends several
 * messages at the same time.
 */
export async function sendBurst(scene: Scene, actor: Actor): Promise<void> {
  const other = actor.random.pick(scene.actors)
  const all: Known[] = []
  for (let at = 0; at < BURST; at += 1) {
    const recipient = actor.random.chance(0.5) ? other : actor.random.pick(scene.actors)
    all.push(await composeDm(scene, actor, recipient))
  }
  await Promise.all(all.map((known) => dispatch(actor, known)))
}

/** Sends one envelope through all gateways at once. */
export async function sendTwin(scene: Scene, actor: Actor): Promise<void> {
  const known = await composeDm(scene, actor)
  const call = { kind: 'send', sent: known.sent } as const
  const answers = await Promise.all(scene.urls.map((_, via) => actor.client.attempt(call, { text: known.text, via })))
  for (const answer of answers) note(known, answer)
  await dispatch(actor, known)
}

/** Sends an earlier message again. The answer is 200, or the first refusal again. */
export async function repeatMessage(scene: Scene, actor: Actor): Promise<void> {
  const mine = scene.known.filter(({ sent }) => sent.from === actor.agent.id)
  if (mine.length > 0) await dispatch(actor, actor.random.pick(mine))
}

/** Sends another body under an id that this agent or another one has used. */
export async function reuseId(scene: Scene, actor: Actor): Promise<void> {
  if (scene.known.length === 0) return
  const { sent } = actor.random.pick(scene.known)
  const other = actor.random.pick(scene.actors)
  await dispatch(actor, await composeDm(scene, actor, other, { id: sent.id }))
}

/** Sends to an unknown agent: 404. */
export async function sendNowhere(scene: Scene, actor: Actor): Promise<void> {
  const envelope = actor.agent.envelope(`nobody-${actor.random.hex(4)}@${actor.agent.place.authority}`, 'hello')
  await dispatch(actor, know(scene, envelope, null, false))
}

async function dispatch(actor: Actor, known: Known): Promise<void> {
  const attempts = actor.random.chance(0.1) ? { attempts: 1 } : {}
  note(known, await actor.client.ask({ kind: 'send', sent: known.sent }, { text: known.text, ...attempts }))
}

function note(known: Known, { status }: Outcome): void {
  if (status === 200 || status === 202) known.accepted = true
}

async function composeDm(
  scene: Scene,
  { agent, random, isRich }: Actor,
  recipient: Actor = random.pick(scene.actors),
  changes: { id?: string } = {},
): Promise<Known> {
  const isDear = isRich && random.chance(DEAR)
  const body = 'x'.repeat(isDear ? DEAR_BYTES : Math.max(0, random.weighted(BODY_BYTES) - 2))
  const id = changes.id ?? random.hex(12)
  const between = (known: Known): boolean =>
    !known.sent.isPost && samePair(known.sent, agent.id, recipient.agent.id) && known.accepted
  const references = random.chance(0.2) ? drawReferences(scene, random.chance(0.9) ? between : () => true, random) : {}
  const ttl = random.chance(0.12) ? { ttl: random.int(1, 12) } : {}
  const head = { id, ...references, ...ttl }
  const envelope =
    isDear || random.chance(0.15)
      ? await agent.sealed(recipient.agent, body, head)
      : agent.envelope(recipient.agent, body, head)
  return know(scene, envelope, recipient.agent.id, false)
}

function composePost(scene: Scene, { agent, random }: Actor): Known | undefined {
  if (scene.boards.length === 0) return undefined
  const board = random.pick(scene.boards)
  const body = 'y'.repeat(random.weighted(POST_BYTES) - 2)
  const there = (known: Known): boolean => known.sent.to === board.id && known.accepted
  const references = random.chance(0.2) ? drawReferences(scene, there, random) : {}
  const ttl = random.chance(0.05) ? { ttl: random.int(2, 12) } : {}
  return know(
    scene,
    agent.envelope(`board:${board.id}`, body, { id: random.hex(12), ...references, ...ttl }),
    board.id,
    true,
  )
}

function drawReferences(
  scene: Scene,
  fits: (known: Known) => boolean,
  random: Actor['random'],
): { reply_to?: string; thread_id?: string } {
  const fitting = scene.known.filter(fits)
  if (fitting.length === 0) return {}
  const { sent } = random.pick(fitting)
  const root = sent.threadId ?? sent.id
  return random.chance(0.5) ? { reply_to: sent.id } : { reply_to: sent.id, thread_id: root }
}

function samePair({ from, to }: Sent, one: string, other: string): boolean {
  return (from === one && to === other) || (from === other && to === one)
}

function know(scene: Scene, envelope: Envelope, to: string | null, isPost: boolean): Known {
  const text = JSON.stringify(envelope)
  const body = 'body_enc' in envelope ? undefined : JSON.stringify(envelope.body)
  const bytes = 'body_enc' in envelope ? Buffer.from(envelope.body_enc, 'base64').length : Buffer.byteLength(body ?? '')
  const sent: Sent = {
    id: envelope.id,
    digest: fingerprint(JSON.parse(text)),
    from: envelope.from,
    to,
    isPost,
    bytes,
    characters: body === undefined ? null : [...body].length,
    tsMs: Date.parse(envelope.ts),
    ttl: envelope.ttl ?? 0,
    replyTo: envelope.reply_to ?? null,
    threadId: envelope.thread_id ?? null,
  }
  const known = { sent, text, accepted: false }
  scene.known.push(known)
  return known
}
