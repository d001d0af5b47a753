import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { Agent, type Place } from '../../support/client/agent.ts'
import type { BoardVisibility, Call, Posting, Sent } from '../history/calls.ts'
import type { History } from '../history/history.ts'
import { type Client, createClient } from './client.ts'
import type { Random } from './random.ts'

/** A message that an agent tried to send. */
export interface Known {
  readonly sent: Sent
  /** The body of the request. */
  readonly text: string
  /** Whether it got a 200 or 202. */
  accepted: boolean
}

export interface KnownBoard {
  readonly id: string
  readonly owner: string
  readonly visibility: BoardVisibility
  readonly posting: Posting
}

/** One agent that acts at random. */
export interface Actor {
  readonly agent: Agent
  readonly client: Client
  readonly random: Random
  /** Has credits and sends expensive messages, so that it reaches the daily ceiling. */
  isRich: boolean
  /** Has requested its revocation. It keeps sending requests, which are refused. */
  revoked: boolean
  /** Its cursors for reading through lists. */
  readonly places: { events: number; inbox: string; requests: string; export: string }
  /** The number of webhook configurations that it has requested. */
  webhooks: number
  /** The time since when the last configuration is certainly in effect, by the clock of this process. */
  hookedMs: number
}

/** All agents of one round, and what they know about each other. */
export interface Scene {
  readonly urls: readonly string[]
  readonly history: History
  readonly random: Random
  readonly actors: Actor[]
  readonly known: Known[]
  readonly boards: KnownBoard[]
  /** The URL of a webhook, with one path for each configuration. */
  readonly hookUrl: (path: string) => string
  /** Called with the secret of a path before the path is configured. */
  readonly expectHook: (path: string, secret: string) => void
  actorOf(agentId: string): Actor | undefined
}

interface SceneOptions {
  readonly urls: readonly string[]
  readonly history: History
  readonly random: Random
  readonly hookUrl: Scene['hookUrl']
  readonly expectHook: Scene['expectHook']
}

export function createScene({ urls, history, random, hookUrl, expectHook }: SceneOptions): Scene {
  const actors: Actor[] = []
  return {
    urls,
    history,
    random,
    actors,
    known: [],
    boards: [],
    hookUrl,
    expectHook,
    actorOf: (agentId) => actors.find(({ agent }) => agent.id === agentId),
  }
}

/** Adds an agent with a key and a name from the seed. It is not registered yet. */
export function addActor(scene: Scene, place: Place, name: string): Actor {
  const random = scene.random.fork(name)
  const key = createKeyPair(Buffer.from(random.hex(32), 'hex'))
  const agent = new Agent(place, name, key)
  const { urls, history } = scene
  const actor: Actor = {
    agent,
    client: createClient({ agent, urls, history, random: random.fork('client') }),
    random,
    isRich: false,
    revoked: false,
    places: { events: 0, inbox: '', requests: '', export: '' },
    webhooks: 0,
    hookedMs: 0,
  }
  scene.actors.push(actor)
  return actor
}

/** Makes a call that needs nothing but its own fields. */
export function ask(actor: Actor, call: Call) {
  return actor.client.ask(call, actor.random.chance(0.1) ? { attempts: 1 } : {})
}
