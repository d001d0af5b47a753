import type { Attempt } from '../history/attempts.ts'
import type { ContactState, Policy, Role, Sent } from '../history/calls.ts'
import { type BoardRole, mayRead } from '../model/answers.ts'
import { NO, trilean } from '../model/possible.ts'
import { Registers } from '../model/register.ts'
import type { SentId } from './sends.ts'

/** The state that answers depend on, as far as the requests of a round determine it. */
export class World {
  readonly attempts: readonly Attempt[]
  readonly sends: ReadonlyMap<string, SentId>
  /** How far the clock of a service may differ from the others, in milliseconds. */
  readonly skewMs: number
  readonly revoked = new Registers<boolean>(false)
  readonly policy = new Registers<Policy>('requests')
  readonly discoverable = new Registers<boolean>(false)
  /** Keyed by the owner of the contact and the other agent. */
  readonly contact = new Registers<ContactState>('none')
  /** Keyed by board and agent; the owner has no entry. */
  readonly #role = new Registers<Role>('none')
  readonly hidden = new Registers<boolean>(false)
  /** Keyed by post and voter. */
  readonly vote = new Registers<boolean>(false)
  readonly acked = new Registers<boolean>(false)
  /** The URL. */
  readonly webhook = new Registers<string | null>(null)
  readonly boards = new Map<
    string,
    { owner: string; visibility: 'public' | 'unlisted' | 'private'; posting: 'members' | 'anyone' }
  >()
  readonly agents: ReadonlySet<string>

  constructor(attempts: readonly Attempt[], sends: ReadonlyMap<string, SentId>, skewMs: number) {
    this.attempts = attempts
    this.sends = sends
    this.skewMs = skewMs
    this.agents = new Set(attempts.map(({ actor }) => actor))
    for (const attempt of attempts) this.#note(attempt)
  }

  #note(attempt: Attempt): void {
    const { call, actor, status, body } = attempt
    switch (call.kind) {
      case 'patch':
        if (call.policy !== undefined) write(this.policy.of(actor), call.policy, attempt)
        if (call.discoverable !== undefined) write(this.discoverable.of(actor), call.discoverable, attempt)
        return
      case 'revoke':
        write(this.revoked.of(actor), true, attempt)
        return
      case 'contact':
        write(this.contact.of(actor, call.other), call.state, attempt)
        return
      case 'role':
        write(this.#role.of(call.board, call.agent), call.role, attempt)
        return
      case 'hide':
        write(this.hidden.of(call.id), call.hidden, attempt)
        return
      case 'vote':
        write(this.vote.of(call.id, actor), call.voted, attempt)
        return
      case 'ack':
        write(this.acked.of(call.id), true, attempt)
        return
      case 'set-webhook':
        write(this.webhook.of(actor), call.url, attempt)
        return
      case 'delete-webhook':
        write(this.webhook.of(actor), null, attempt)
        return
      case 'create-board':
        if (status === 201 && body.id !== undefined) {
          this.boards.set(body.id, { owner: actor, visibility: call.visibility, posting: call.posting })
        }
    }
  }

  roles(board: string, agent: string, fromMs: number, untilMs: number): ReadonlySet<BoardRole> {
    if (this.boards.get(board)?.owner === agent) return new Set(['owner'])
    return this.#role.of(board, agent).possible(fromMs, untilMs)
  }

  /** Whether the agent may have been able to read the board at some time in the interval (spec 8.2). */
  mayRead(board: string, agent: string, fromMs: number, untilMs: number): ReadonlySet<boolean> {
    const { visibility } = this.boards.get(board) ?? {}
    if (visibility === undefined) return new Set([true, false])
    return new Set([...this.roles(board, agent, fromMs, untilMs)].map((role) => mayRead({ visibility, role })))
  }

  /** Whether a message may have been expired at some time in the interval (spec 6.8). */
  expired({ ttl, tsMs }: Sent, fromMs: number, untilMs: number): readonly boolean[] {
    if (ttl === 0) return NO
    const atMs = (Math.floor(tsMs / 1_000) + ttl) * 1_000
    return trilean(atMs <= fromMs - this.skewMs - 1_000, atMs <= untilMs + this.skewMs + 1_000)
  }

  /** Whether the envelope may have existed at some time in the interval, according to the answers to other attempts. Ignores expiry. */
  exists(
    { id, digest }: { id: string; digest?: string | undefined },
    fromMs: number,
    untilMs: number,
    without?: Attempt,
  ): readonly boolean[] {
    const others = (this.sends.get(id)?.attempts ?? []).filter(
      (other) => other.n !== without?.n && (digest === undefined || other.call.sent.digest === digest),
    )
    const isThere = ({ status }: { status: number | null }): boolean => status === 200 || status === 202
    return trilean(
      others.some((other) => isThere(other) && other.endMs <= fromMs),
      others.some((other) => (isThere(other) || other.unknown) && other.startMs <= untilMs),
    )
  }

  /** How many agents besides the author get an entry of a post that is accepted in the interval (spec 8.8). */
  subscribers(board: string, author: string, fromMs: number, untilMs: number): { least: number; most: number } {
    let [least, most] = [0, 0]
    for (const agent of this.agents) {
      if (agent === author) continue
      const roles = [...this.roles(board, agent, fromMs, untilMs)].map((role) => role !== 'none' && role !== 'banned')
      if (roles.every(Boolean)) least += 1
      if (roles.some(Boolean)) most += 1
    }
    return { least, most }
  }
}

function write<V>(
  register: { wrote(value: V, startMs: number, endMs: number): void; mayHaveWritten(value: V, startMs: number): void },
  value: V,
  { startMs, endMs, status, unknown }: Attempt,
): void {
  if (status === 200) register.wrote(value, startMs, endMs)
  else if (unknown) register.mayHaveWritten(value, startMs)
}

export function revokedIn(world: World, { actor, startMs, endMs }: Attempt): ReadonlySet<boolean> {
  return world.revoked.of(actor).possible(startMs, endMs)
}
