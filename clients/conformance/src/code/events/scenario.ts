/** Plays the scenario of docs/vectors/cursors.json. */
import { readFileSync } from 'node:fs'
import type { Case, World } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'
import type { Agent } from '../../http/agent.ts'
import { findFolder } from '../../report/rules.ts'

type Step =
  | { do: 'send'; as: string; to: string; id: string; duplicate?: boolean }
  | { do: 'create-board'; as: string; visibility: string; posting: string }
  | { do: 'set-role'; as: string; on: string; role: string }
  | { do: 'post'; as: string; id: string }
  | { do: 'set-contact'; as: string; on: string; state: string }
  | { do: 'hide'; as: string; id: string; hidden: boolean }
  | { do?: undefined; expect: Record<string, unknown> }

interface Scenario {
  readonly agents: readonly string[]
  readonly steps: readonly Step[]
}

interface Event {
  readonly cursor: number
  readonly kind: string
  readonly message: { readonly envelope: { readonly id: string }; readonly lane: string }
}

export const SCENARIO: Case = {
  id: 'events/scenario',
  title: 'The scenario of docs/vectors/cursors.json: kinds, cursors and headers at each point',
  spec: ['9.2', '9.3', '9.4', '9.6'],
  needs: [],
  agents: 3,
  async run(world) {
    const { agents: names, steps } = JSON.parse(
      readFileSync(`${findFolder('vectors')}cursors.json`, 'utf8'),
    ) as Scenario
    const agents = await Promise.all(names.map(async (name) => [name, await world.agent()] as const))
    const scene = new Scene(world, new Map(agents))
    for (const step of steps) await scene.play(step)
  },
}

/** Ids are unique in the whole service, so each run adds a suffix to those of the file. */
class Scene {
  private readonly agents: ReadonlyMap<string, Agent>
  private readonly suffix: string
  private readonly sent = new Map<string, object>()
  private board = ''

  constructor({ stranger }: World, agents: ReadonlyMap<string, Agent>) {
    this.agents = agents
    this.suffix = `-${stranger().id.slice(0, 16)}`
  }

  async play(step: Step): Promise<void> {
    if (step.do === undefined) {
      for (const [name, expected] of Object.entries(step.expect))
        check(await this.historyOf(name), expected, `the history of ${name}`)
      return
    }
    const caller = this.agent(step.as)
    switch (step.do) {
      case 'send':
        return this.send(caller, this.agent(step.to), step.id, step.duplicate)
      case 'post':
        return this.send(caller, `board:${this.board}`, step.id)
      case 'create-board': {
        const { visibility, posting } = step
        this.board = (await got(caller.post('/v2/boards', { title: 'a board', visibility, posting }))).id
        return
      }
      case 'set-role':
        return got(caller.put(`/v2/boards/${this.board}/members/${this.agent(step.on).id}`, { role: step.role }))
      case 'set-contact':
        return got(caller.put(`/v2/contacts/${this.agent(step.on).id}`, { state: step.state }))
      case 'hide': {
        const path = `/v2/boards/${this.board}/messages/${step.id}${this.suffix}/visibility`
        return got(caller.put(path, { hidden: step.hidden }))
      }
    }
  }

  private async historyOf(name: string): Promise<unknown> {
    const { headers, body } = await this.agent(name).get('/v2/events')
    return {
      events: (body.events as Event[]).map(({ cursor, kind, message }) => {
        const { id } = message.envelope
        return { cursor, kind, id: id.replace(this.suffix, ''), lane: message.lane }
      }),
      next_cursor: body.next_cursor,
      earliest: Number(headers.get('x-svc-earliest-cursor')),
      latest: Number(headers.get('x-svc-latest-cursor')),
    }
  }

  /** A duplicate is exactly the envelope that was sent before. */
  private async send(from: Agent, to: Agent | string, id: string, isDuplicate = false): Promise<void> {
    const envelope = this.sent.get(id) ?? from.envelope(to, 'hello', { id: id + this.suffix })
    this.sent.set(id, envelope)
    check((await got(from.post('/v2/messages', envelope))).duplicate, isDuplicate, `duplicate of ${id}`)
  }

  private agent(name: string): Agent {
    const agent = this.agents.get(name)
    if (agent === undefined) throw new Error(`the scenario has no agent ${name}`)
    return agent
  }
}
