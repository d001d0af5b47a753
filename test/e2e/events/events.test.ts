/** GET /v2/events. Source: spec 9.1 to 9.4, 9.6. Expiry is in expiry.test.ts. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../../support/client/agent.ts'
import { got, outcomeOf } from '../../support/client/answers.ts'
import { newBoard, type Posting, putRole, type Role, type Visibility } from '../../support/client/boards.ts'
import { type SharedHarness, shareHarness } from '../../support/system/harness.ts'

let h: SharedHarness
let alice: Agent
/** Has seven events, alternately from a friend and from strangers. */
let bob: Agent
let sent: { id: string; kind: string }[]

beforeAll(async () => {
  h = await shareHarness('usual')
  ;[alice, bob] = await h.agents(2)
  const strangers = await h.agents(3)
  await got(bob.put(`/v2/contacts/${alice.id}`, { state: 'accepted' }))
  sent = []
  for (const from of [alice, ...strangers.flatMap((stranger) => [stranger, alice])]) {
    const { msg_id, lane } = (await got(from.send(bob, sent.length))).body
    sent.push({ id: msg_id, kind: lane })
  }
})
afterAll(() => h[Symbol.asyncDispose]())

interface Event {
  cursor: number
  kind: string
  message: { envelope: { id: string }; lane: string }
}

function earliest({ headers }: HttpAnswer): string | null {
  return headers.get('x-svc-earliest-cursor')
}

function latest({ headers }: HttpAnswer): string | null {
  return headers.get('x-svc-latest-cursor')
}

describe('spec 9.1, 9.3: GET /v2/events', () => {
  test('exactly the specified members; cursors rise by one from 1, in the order of acceptance', async () => {
    const answer = await got(bob.get('/v2/events'))
    expect(answer.body.retention_days).toBe(30)
    expect(Object.keys(answer.body).toSorted()).toEqual(['events', 'next_cursor', 'retention_days'])
    const events: Event[] = answer.body.events
    expect(events.map(({ cursor, kind, message }) => ({ cursor, kind, id: message.envelope.id }))).toEqual(
      sent.map(({ id, kind }, at) => ({ cursor: at + 1, kind, id })),
    )
    for (const event of events) {
      expect(Object.keys(event).toSorted()).toEqual(['cursor', 'kind', 'message'])
      expect(event.message).toStrictEqual((await got(bob.get(`/v2/messages/${event.message.envelope.id}`))).body)
      expect(event.kind).toBe(event.message.lane)
    }
  })

  test('a sender has no event of its messages to others', async () => {
    expect((await got(alice.get('/v2/events'))).body).toEqual({ events: [], next_cursor: 0, retention_days: 30 })
  })

  test('spec 9.2: only an acceptance makes an event', async () => {
    const [carol, dave] = await h.agents(2)
    await got(carol.put(`/v2/contacts/${dave.id}`, { state: 'blocked' }))
    await got(carol.patch('/v2/me', { inbox_policy: 'closed', discoverable: true }))
    await dave.send(carol)
    for (const agent of [carol, dave]) expect((await got(agent.get('/v2/events'))).body.events).toEqual([])
  })
})

describe('spec 9.4: next_cursor is the last cursor examined, or after if there is none', () => {
  const rows: [query: string, cursors: number[], nextCursor: number][] = [
    ['', [1, 2, 3, 4, 5, 6, 7], 7],
    ['?after=3', [4, 5, 6, 7], 7],
    ['?after=8', [], 8],
    ['?limit=3', [1, 2, 3], 3],
    ['?after=2&limit=2', [3, 4], 4],
  ]
  test.each(rows)('%j', async (query, cursors, nextCursor) => {
    for (const url of h.system.urls) {
      const answer = await got(bob.get(`/v2/events${query}`, { url }))
      expect(answer.body.events.map(({ cursor }: Event) => cursor)).toEqual(cursors)
      expect(answer.body.next_cursor).toBe(nextCursor)
      expect(earliest(answer)).toBe('1')
    }
  })
})

describe('spec 9.4: after', () => {
  test('the cursor of a message list is not valid here', async () => {
    const { next_cursor } = (await got(bob.get('/v2/inbox?limit=1'))).body
    expect(outcomeOf(await bob.get(`/v2/events?after=${next_cursor}`))).toBe('400 invalid_cursor')
  })
})

describe('spec 9.6: X-SVC-Earliest-Cursor and X-SVC-Latest-Cursor', () => {
  test('without events, the earliest cursor is that of the next event', async () => {
    const [carol, dave] = await h.agents(2)
    for (const query of ['', '?after=5']) {
      const answer = await got(carol.get(`/v2/events${query}`))
      expect([earliest(answer), latest(answer)]).toEqual(['1', '0'])
    }
    await got(dave.send(carol))
    for (const query of ['', '?after=1', `?after=${Number.MAX_SAFE_INTEGER}&limit=1`]) {
      const answer = await got(carol.get(`/v2/events${query}`))
      expect([earliest(answer), latest(answer)]).toEqual(['1', '1'])
    }
  })
})

type Step =
  | { do: 'send'; as: string; to: string; id: string; duplicate?: boolean }
  | { do: 'create-board'; as: string; visibility: Visibility; posting: Posting }
  | { do: 'set-role'; as: string; on: string; role: Role }
  | { do: 'post'; as: string; id: string }
  | { do: 'set-contact'; as: string; on: string; state: string }
  | { do: 'hide'; as: string; id: string; hidden: boolean }
  | { do?: undefined; expect: Record<string, History> }

interface History {
  events: { cursor: number; kind: string; id: string; lane: string }[]
  next_cursor: number
  earliest: number
  latest: number
}

interface Scenario {
  agents: string[]
  steps: Step[]
}

test('spec 9.2, 9.3, 9.4, 9.6: the scenario of docs/vectors/cursors.json', async () => {
  const file = new URL('../../../docs/vectors/cursors.json', import.meta.url)
  const { agents: names, steps } = JSON.parse(readFileSync(file, 'utf8')) as Scenario
  const agents = new Map<string, Agent>()
  for (const name of names) agents.set(name, (await h.agents(1))[0])
  const scene = new Scene(agents)
  for (const step of steps) {
    if (step.do !== undefined) await scene.play(step)
    else for (const [name, history] of Object.entries(step.expect)) expect(await scene.historyOf(name)).toEqual(history)
  }
})

/** Plays the steps of a scenario. Ids are unique in the whole service, so each run adds a suffix to those of the file. */
class Scene {
  private readonly agents: ReadonlyMap<string, Agent>
  private readonly suffix: string
  private readonly sent = new Map<string, object>()
  private board = ''

  constructor(agents: ReadonlyMap<string, Agent>) {
    this.agents = agents
    this.suffix = `-${[...agents.values()][0]?.id.slice(0, 16)}`
  }

  async play(step: Exclude<Step, { do?: undefined }>): Promise<void> {
    const caller = this.agent(step.as)
    switch (step.do) {
      case 'send':
        return this.send(caller, this.agent(step.to), step.id, step.duplicate)
      case 'post':
        return this.send(caller, `board:${this.board}`, step.id)
      case 'create-board':
        this.board = await newBoard(caller, { visibility: step.visibility, posting: step.posting })
        return
      case 'set-role':
        await got(putRole(caller, this.board, this.agent(step.on), step.role))
        return
      case 'set-contact':
        await got(caller.put(`/v2/contacts/${this.agent(step.on).id}`, { state: step.state }))
        return
      case 'hide': {
        const path = `/v2/boards/${this.board}/messages/${step.id}${this.suffix}/visibility`
        await got(caller.put(path, { hidden: step.hidden }))
      }
    }
  }

  async historyOf(name: string): Promise<History> {
    const answer = await got(this.agent(name).get('/v2/events'))
    const events = (answer.body.events as Event[]).map(({ cursor, kind, message }) => {
      const { id } = message.envelope
      expect(id.endsWith(this.suffix)).toBe(true)
      return { cursor, kind, id: id.slice(0, -this.suffix.length), lane: message.lane }
    })
    const [first, last] = [Number(earliest(answer)), Number(latest(answer))]
    return { events, next_cursor: answer.body.next_cursor, earliest: first, latest: last }
  }

  /** A duplicate is exactly the envelope that was sent before. */
  private async send(from: Agent, to: Agent | string, id: string, isDuplicate = false): Promise<void> {
    const envelope = this.sent.get(id) ?? from.envelope(to, 'hello', { id: id + this.suffix })
    this.sent.set(id, envelope)
    const { body } = await got(from.post('/v2/messages', envelope))
    expect(body.duplicate).toBe(isDuplicate)
  }

  private agent(name: string): Agent {
    const agent = this.agents.get(name)
    if (agent === undefined) throw new Error(`the scenario has no agent ${name}`)
    return agent
  }
}
