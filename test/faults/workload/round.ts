import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Operator } from '../../support/system/operator.ts'
import { type History, openHistory } from '../history/history.ts'
import type { Fault } from '../nemesis/fault.ts'
import type { FaultSystem } from '../nemesis/fault-system.ts'
import { startNemesis } from '../nemesis/nemesis.ts'
import { type RoundFollower, startRoundFollower } from './follower.ts'
import type { HookReceiver } from './hook-receiver.ts'
import { createBoards } from './operations/boards.ts'
import { register } from './operations/identity.ts'
import { setWebhook } from './operations/webhooks.ts'
import { IN_BACKGROUND, OPERATIONS, type Operation } from './operations.ts'
import { createRandom, type Random } from './random.ts'
import { type Actor, addActor, createScene, type Scene } from './scene.ts'

export interface RoundOptions {
  readonly system: FaultSystem
  readonly hooks: HookReceiver
  readonly operator: Operator
  readonly faults: readonly Fault[]
  /** The seed of this round. */
  readonly seed: number
  /** How long the agents act. */
  readonly seconds: number
  readonly actors: number
  /** The folder of the history. */
  readonly folder: string
  /** Default: all operations of the API. */
  readonly operations?: readonly (readonly [weight: number, operation: Operation])[]
}

/** One round: its own agents act for some time on a system under faults, and then the faults stop. */
export interface Round extends AsyncDisposable {
  readonly history: History
  readonly scene: Scene
  readonly followers: readonly RoundFollower[]
}

/** Pause between two calls of one agent. */
const IDLE_MS = 60
const REVOKED_IDLE_MS = 2_000
/** The number of agents with credits. They reach the ceiling; the others use up their units. */
const RICH = 3
/** The index of the agent with credits that creates boards up to its limit. */
const COLLECTOR = 2
const CREDITS = 2_000
/** The weight of creating boards, relative to all other operations. */
const COLLECTING = 25
const HOOKED = 4
const FOLLOWED = 4

export async function runRound(options: RoundOptions): Promise<Round> {
  const { system, hooks, operator, faults, seed, seconds, folder } = options
  const { urls, authority } = system
  const random = createRandom(seed)
  const history = openHistory(join(folder, `history-${seed}.ndjson`))
  hooks.startRound(history, random.fork('hooks'))
  const scene = createScene({
    urls,
    history,
    random,
    hookUrl: (path) => hooks.urlFor(path),
    expectHook: (path, secret) => hooks.expect(path, secret),
  })
  const place = { url: urls[0] ?? '', authority }
  const actors = Array.from({ length: options.actors }, (_, at) => addActor(scene, place, nameOf(random, at)))
  await Promise.all(actors.map((actor) => enter(scene, actor)))
  const rich = actors.slice(0, RICH)
  await Promise.all(rich.map((actor) => grant(operator, history, actor, CREDITS)))
  for (const actor of rich) actor.isRich = actor !== actors[COLLECTOR]

  const followers = actors.slice(0, FOLLOWED).flatMap((actor, at) => {
    const clients = at === 0 ? [0, 1] : [0]
    return clients.map((client) => startRoundFollower(actor, client, urls, history))
  })
  const nemesis = startNemesis({ system, faults, random: random.fork('nemesis'), history })
  const untilMs = Date.now() + seconds * 1_000
  const background = new Set<Promise<void>>()
  const operations = options.operations ?? OPERATIONS
  await Promise.all([
    ...actors.slice(0, HOOKED).map((actor) => setWebhook(scene, actor)),
    ...actors.map((actor, at) =>
      act(scene, actor, at === COLLECTOR ? [...operations, [COLLECTING, createBoards]] : operations, {
        untilMs,
        background,
      }),
    ),
    sleep(seconds * 1_000).then(() => nemesis.stop()),
  ])
  await Promise.all(background)
  return {
    history,
    scene,
    followers,
    async [Symbol.asyncDispose]() {
      await Promise.all(followers.map((follower) => follower.stop()))
      await history[Symbol.asyncDispose]()
    },
  }
}

function nameOf(random: Random, at: number): string {
  return `f${random.hex(5)}-${at}`
}

async function enter(scene: Scene, actor: Actor): Promise<void> {
  if (!(await register(scene, actor))) throw new Error(`${actor.agent.name} could not be registered`)
  if (actor.random.chance(0.5)) await actor.client.ask({ kind: 'patch', policy: 'open' })
}

async function grant(operator: Operator, history: History, { agent }: Actor, units: number): Promise<void> {
  const atMs = Date.now()
  const reference = `${agent.name}-${atMs}`
  // grant twice, because the same reference is the same grant (spec 11.4)
  for (let time = 0; time < 2; time += 1) await operator.grant(agent.id, units, reference)
  history.add({ type: 'grant', agent: agent.id, units, reference, atMs, endMs: Date.now(), certain: true })
}

async function act(
  scene: Scene,
  actor: Actor,
  operations: NonNullable<RoundOptions['operations']>,
  { untilMs, background }: { untilMs: number; background: Set<Promise<void>> },
): Promise<void> {
  while (Date.now() < untilMs) {
    const operation = actor.random.weighted(operations)
    const done = operation(scene, actor)
    if (IN_BACKGROUND.has(operation)) background.add(done)
    else await done
    // a revoked agent is always refused, so it calls rarely
    await sleep(actor.random.int(0, actor.revoked ? REVOKED_IDLE_MS : IDLE_MS))
  }
}
