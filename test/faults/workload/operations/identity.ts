/** Registration, settings, contacts, revocation. */
import { setTimeout as sleep } from 'node:timers/promises'
import { solveWork } from '@svc/svc1/pow.ts'
import { type Actor, ask, type Scene } from '../scene.ts'

const MAX_CHALLENGES = 30
const AGAIN_MS = 200

/** Registers the agent. Each attempt uses a new challenge, because a failed attempt may have consumed its challenge. */
export async function register(scene: Scene, { agent, client }: Actor): Promise<boolean> {
  for (let attempt = 0; attempt < MAX_CHALLENGES; attempt += 1) {
    const work = await solve(scene, agent.pubkey)
    if (work !== undefined) {
      const text = JSON.stringify({ name: agent.name, pubkey: agent.pubkey, ...work })
      const call = { kind: 'register', name: agent.name, agent: agent.id } as const
      const { status } = await client.attempt(call, { text })
      if (status === 201) return true
    }
    await sleep(AGAIN_MS)
  }
  return false
}

async function solve(scene: Scene, pubkey: string): Promise<{ challenge: string; nonce: string } | undefined> {
  try {
    const response = await fetch(`${scene.random.pick(scene.urls)}/v2/challenges`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ pubkey }),
      signal: AbortSignal.timeout(8_000),
    })
    if (response.status !== 201) return undefined
    const { challenge, difficulty } = (await response.json()) as { challenge: string; difficulty: number }
    return { challenge, nonce: await solveWork(challenge, difficulty) }
  } catch {
    return undefined
  }
}

/** Repeats the registration with a new challenge. The agent's own name gets 201 again; another agent's name is refused. */
export async function registerAgain(scene: Scene, actor: Actor): Promise<void> {
  const name = actor.random.chance(0.5) ? actor.agent.name : actor.random.pick(scene.actors).agent.name
  const work = await solve(scene, actor.agent.pubkey)
  if (work === undefined) return
  const text = JSON.stringify({ name, pubkey: actor.agent.pubkey, ...work })
  await actor.client.ask({ kind: 'register', name, agent: actor.agent.id }, { text })
}

export async function changeSettings(_scene: Scene, actor: Actor): Promise<void> {
  const { random } = actor
  const policy = random.weighted([
    [4, 'open'],
    [3, 'requests'],
    [1, 'contacts'],
    [1, 'closed'],
  ] as const)
  await ask(
    actor,
    random.weighted([
      [4, { kind: 'patch', policy }],
      [1, { kind: 'patch', discoverable: random.chance(0.5) }],
      [1, { kind: 'patch', policy, discoverable: random.chance(0.5) }],
    ] as const),
  )
}

export async function readSettings(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'me' })
}

export async function changeContact(scene: Scene, actor: Actor): Promise<void> {
  const { random } = actor
  const others = scene.actors.filter((other) => other !== actor)
  // Prefers agents that have written to this one.
  const askers = scene.known.filter(({ sent }) => sent.to === actor.agent.id && sent.from !== actor.agent.id)
  const other = random.chance(0.6) && askers.length > 0 ? random.pick(askers).sent.from : random.pick(others).agent.id
  const state = random.weighted([
    [6, 'accepted'],
    [2, 'blocked'],
    [2, 'none'],
  ] as const)
  await ask(actor, { kind: 'contact', other, state })
}

export async function readContacts(_scene: Scene, actor: Actor): Promise<void> {
  await ask(actor, { kind: 'contacts' })
}

/** Revokes the agent for good. The agent keeps sending requests, which are refused. */
export async function revoke(_scene: Scene, actor: Actor): Promise<void> {
  actor.revoked = true
  await ask(actor, { kind: 'revoke' })
}
