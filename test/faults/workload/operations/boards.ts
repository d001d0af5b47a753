/** Operations on boards: create, join, change roles, leave, read, vote, hide and restore. */
import type { Outcome } from '../client.ts'
import { type Actor, ask, type KnownBoard, type Scene } from '../scene.ts'

/** An owner has at most 20 boards (spec 8.1). */
const MANY = 5

export async function createBoard(scene: Scene, actor: Actor): Promise<void> {
  const { random } = actor
  const visibility = random.weighted([
    [4, 'public'],
    [1, 'unlisted'],
    [2, 'private'],
  ] as const)
  const posting = visibility === 'private' || random.chance(0.4) ? 'members' : 'anyone'
  const call = { kind: 'create-board', title: `b ${random.hex(4)}`, visibility, posting } as const
  // The client does not choose a board's id, so a retry would create another board. Call once.
  note(scene, actor, call, await actor.client.ask(call, { attempts: 1 }))
}

/** Creates several boards at once, up to the limit of an owner. */
export async function createBoards(scene: Scene, actor: Actor): Promise<void> {
  const call = { kind: 'create-board', title: 'one of many', visibility: 'private', posting: 'members' } as const
  const outcomes = await Promise.all(Array.from({ length: MANY }, () => actor.client.attempt(call)))
  for (const outcome of outcomes) note(scene, actor, call, outcome)
}

function note(
  scene: Scene,
  actor: Actor,
  { visibility, posting }: Pick<KnownBoard, 'visibility' | 'posting'>,
  { status, body }: Outcome,
): void {
  if (status === 201 && body.id !== undefined) {
    scene.boards.push({ id: body.id, owner: actor.agent.id, visibility, posting })
  }
}

/** Most boards have no reader besides their owner. These few boards get all the activity. */
function drawBoard(scene: Scene, actor: Actor): KnownBoard | undefined {
  const lively = scene.boards.slice(0, 6)
  return lively.length === 0 ? undefined : actor.random.pick(lively)
}

export async function subscribe(scene: Scene, actor: Actor): Promise<void> {
  const board = drawBoard(scene, actor)
  if (board === undefined) return
  const role = actor.random.weighted([
    [4, 'reader'],
    [1, 'none'],
    [0.2, 'writer'],
  ] as const)
  await ask(actor, { kind: 'role', board: board.id, agent: actor.agent.id, role })
}

export async function setRole(scene: Scene, actor: Actor): Promise<void> {
  const { random } = actor
  const board = drawBoard(scene, actor)
  if (board === undefined) return
  const owner = scene.actorOf(board.owner)
  const caller = random.chance(0.85) && owner !== undefined ? owner : actor
  const role = random.weighted([
    [4, 'writer'],
    [3, 'reader'],
    [1, 'banned'],
    [1, 'none'],
  ] as const)
  await ask(caller, { kind: 'role', board: board.id, agent: random.pick(scene.actors).agent.id, role })
}

export async function vote(scene: Scene, actor: Actor): Promise<void> {
  const id = drawPost(scene, actor)
  if (id !== undefined) await ask(actor, { kind: 'vote', id, voted: actor.random.chance(0.7) })
}

/** One agent votes for one post several times at once. This must be one vote that costs one unit. */
export async function voteAtOnce(scene: Scene, actor: Actor): Promise<void> {
  const id = drawPost(scene, actor)
  if (id === undefined) return
  await Promise.all(
    scene.urls.flatMap((_, via) => [0, 1].map(() => actor.client.attempt({ kind: 'vote', id, voted: true }, { via }))),
  )
}

export async function hidePost(scene: Scene, actor: Actor): Promise<void> {
  const posts = scene.known.filter(({ sent, accepted }) => sent.isPost && accepted)
  if (posts.length === 0) return
  const { sent } = actor.random.pick(posts)
  const board = scene.boards.find(({ id }) => id === sent.to)
  const owner = board && scene.actorOf(board.owner)
  if (board === undefined || owner === undefined) return
  const caller = actor.random.chance(0.9) ? owner : actor
  await ask(caller, { kind: 'hide', board: board.id, id: sent.id, hidden: actor.random.chance(0.5) })
}

export async function readBoard(scene: Scene, actor: Actor): Promise<void> {
  const board = drawBoard(scene, actor)
  if (board === undefined) return
  const call = actor.random.weighted([
    [3, { kind: 'feed', board: board.id, after: '', limit: 100 }],
    [1, { kind: 'board', board: board.id }],
    [1, { kind: 'boards' }],
    [1, { kind: 'members', board: board.id }],
  ] as const)
  const owner = scene.actorOf(board.owner)
  await ask(call.kind === 'members' && owner !== undefined ? owner : actor, call)
}

function drawPost(scene: Scene, actor: Actor): string | undefined {
  const posts = scene.known.filter(({ sent, accepted }) => sent.isPost && accepted)
  return posts.length === 0 ? undefined : actor.random.pick(posts.slice(-12)).sent.id
}
