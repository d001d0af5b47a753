/**
 * Checks what readers saw, during the faults and at the end. Every value must be possible, messages must be as sent, and
 * posts must belong to boards that the reader may read. Cursors must keep their events, and nothing new may appear before a
 * reader's position.
 * Source: spec 7.9, 8.2, 8.8, 8.9, 9.3.
 */
import type { Attempt } from '../../history/attempts.ts'
import type { Seen } from '../../history/calls.ts'
import type { Final } from '../final.ts'
import type { Purses } from '../purse.ts'
import type { Violation } from '../violation.ts'
import type { World } from '../world.ts'

/** Part of an agent's history, as a reader saw it. */
interface Page {
  readonly startMs: number
  readonly endMs: number
  /** The reader has read everything after the first cursor, up to the second. */
  readonly after: number
  readonly until: number
  readonly events: readonly Seen[]
}

export function checkReads(world: World, purses: Purses, final: Final): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  for (const attempt of world.attempts) if (attempt.status === 200) checkValues(attempt)
  checkCursors()
  checkOrders()
  return violations

  function checkValues({ call, actor, body, startMs, endMs, n }: Attempt): void {
    const { policy, discoverable, budget, contacts, messages } = body
    const where = `request ${n} of ${actor}`
    if (policy !== undefined && call.kind === 'me') {
      const policies: ReadonlySet<string> = world.policy.of(actor).possible(startMs, endMs)
      if (!policies.has(policy)) say('reads: settings', `${where} shows ${policy}; possible are ${[...policies]}`)
      const shown = world.discoverable.of(actor).possible(startMs, endMs)
      if (!shown.has(discoverable === true)) say('reads: settings', `${where} shows discoverable ${discoverable}`)
    }
    if (budget !== undefined) {
      const { least, most } = purses.used(actor, startMs, endMs)
      if (budget.used > most || (budget.used < least && isOneDay(startMs))) {
        say('reads: units used', `${where} shows ${budget.used}; possible is ${least} to ${most}`)
      }
    }
    if (contacts !== undefined) {
      for (const other of world.agents) {
        if (other === actor) continue
        const states: ReadonlySet<string> = world.contact.of(actor, other).possible(startMs, endMs)
        const shown = contacts[other] ?? 'none'
        // spec 5.9: a revoked agent is not listed
        if (shown === 'none' && world.revoked.of(other).possible(startMs, endMs).has(true)) continue
        if (!states.has(shown))
          say('reads: contacts', `${where} shows ${other} as ${shown}; possible are ${[...states]}`)
      }
    }
    if (call.kind === 'receipt') {
      const acked = world.acked.of(call.id).possible(startMs, endMs)
      if (!acked.has(body.status === 'processed')) say('reads: receipts', `${where} shows ${body.status} of ${call.id}`)
    }
    if (call.kind === 'thread') {
      for (const { id } of messages ?? []) {
        const inThread = ({ call: { sent } }: Attempt<'send'>): boolean =>
          sent.id === call.id || sent.threadId === call.id
        if (!world.sends.get(id)?.attempts.some(inThread))
          say('a thread is its root and its members', `${where} shows ${id}`)
      }
    }
    for (const message of messages ?? []) checkMessage(message, where, startMs, endMs)
    if (call.kind === 'events' || call.kind === 'export') {
      for (const { id, lane } of messages ?? []) {
        const board = lane === 'board' ? boardOf(id) : undefined
        if (board !== undefined && !world.mayRead(board, actor, startMs, endMs).has(true))
          say('posts: to those who may read the board', `${where} shows ${id} of ${board}`)
      }
    }
  }

  function boardOf(id: string): string | undefined {
    return world.sends.get(id)?.accepted?.to ?? undefined
  }

  function checkMessage({ id, digest, acked, upvotes }: Seen, where: string, startMs: number, endMs: number): void {
    const known = world.sends.get(id)
    const tries = known?.attempts.filter(({ call }) => call.sent.digest === digest) ?? []
    if (tries.length === 0) say('messages are shown as they were sent', `${id} in ${where} was never sent like this`)
    else if (
      !tries.some(
        ({ status, unknown, startMs: from }) => (status === 200 || status === 202 || unknown) && from <= endMs,
      )
    ) {
      say('no refused message is delivered', `${id} in ${where}`)
    }
    if (!world.acked.of(id).possible(startMs, endMs).has(acked))
      say('reads: acked', `${where} shows ${id} with acked ${acked}`)
    const votes = [...world.agents].map((voter) => [...world.vote.of(id, voter).possible(startMs, endMs)])
    const least = votes.filter((possible) => possible.every(Boolean)).length
    const most = votes.filter((possible) => possible.some(Boolean)).length
    if (upvotes < least || upvotes > most) {
      say('votes are exact at once', `${where} shows ${upvotes} votes for ${id}; possible is ${least} to ${most}`)
    }
  }

  /**
   * Checks that each cursor belongs to one event for ever, and that nothing new appears before a cursor that a client has
   * read up to.
   */
  function checkCursors(): void {
    const logged = new Map(final.entries.map((entry) => [`${entry.log} ${entry.position}`, entry]))
    const pages = Map.groupBy(
      world.attempts.flatMap((attempt): (Page & { actor: string })[] => {
        const { call, body, status, actor, startMs, endMs } = attempt
        if (call.kind !== 'events' || status !== 200) return []
        return [
          { actor, startMs, endMs, after: call.after, until: Number(body.nextCursor), events: body.messages ?? [] },
        ]
      }),
      ({ actor }) => actor,
    )
    for (const [actor, all] of pages) {
      const given = new Map<number, string>()
      for (const { events, after, until } of all) {
        let last = after
        for (const { cursor = 0, id, lane } of events) {
          if (cursor <= last || cursor > until)
            say('cursors rise', `${actor} read ${cursor} after ${last}, in a page up to ${until}`)
          last = cursor
          const entry = logged.get(`${actor} ${cursor}`)
          if (entry !== undefined && (entry.message !== id || entry.kind !== lane)) {
            say(
              'a cursor keeps its event',
              `${cursor} of ${actor} was ${lane} ${id}, but is ${entry.kind} ${entry.message}`,
            )
          }
          const earlier = given.get(cursor)
          if (earlier !== undefined && earlier !== id)
            say('a cursor keeps its event', `${cursor} of ${actor}: ${earlier}, ${id}`)
          given.set(cursor, id)
        }
      }
      checkAppendOnly(actor, all)
    }
  }

  function checkAppendOnly(actor: string, pages: readonly Page[]): void {
    for (const earlier of pages) {
      const seen = new Set(earlier.events.map(({ cursor }) => cursor))
      for (const later of pages) {
        if (later.startMs <= earlier.endMs) continue
        const behind = later.events.filter(
          (event) =>
            Number(event.cursor) > earlier.after &&
            Number(event.cursor) <= earlier.until &&
            !seen.has(event.cursor) &&
            !wasClosed(actor, event, earlier),
        )
        for (const { cursor, id } of behind) {
          say(
            'nothing new at or below a cursor',
            `${actor} had read up to ${earlier.until}, but later found ${id} at ${cursor}`,
          )
        }
      }
    }
  }

  /**
   * Whether the post was hidden, or the reader could not read its board for some time. Such a post may appear again later
   * (spec 9.3).
   */
  function wasClosed(actor: string, { id, lane }: Seen, { startMs, endMs }: Page): boolean {
    if (lane !== 'board') return false
    const board = boardOf(id)
    if (board === undefined || world.hidden.of(id).possible(startMs, endMs).has(true)) return true
    return world.mayRead(board, actor, startMs, endMs).has(false)
  }

  /** Checks that lists are in order of arrival: every page is part of the final list, in the same order. */
  function checkOrders(): void {
    const whole = new Map<string, readonly Seen[]>([
      ...final.agents.map(({ id, exported }) => [`export ${id}`, exported] as const),
      ...final.boards.map(({ id, feed }) => [`feed ${id}`, feed ?? []] as const),
    ])
    for (const { call, body, status, actor, n } of world.attempts) {
      if (status !== 200 || (call.kind !== 'export' && call.kind !== 'feed')) continue
      const list = whole.get(call.kind === 'feed' ? `feed ${call.board}` : `export ${actor}`) ?? []
      const places = new Map(list.map(({ id }, at) => [id, at]))
      const shown = (body.messages ?? []).flatMap(({ id }) => places.get(id) ?? [])
      if (shown.some((place, at) => place <= (shown[at - 1] ?? -1))) {
        say('lists are in order of arrival', `request ${n} of ${actor}, ${call.kind}`)
      }
    }
    const positions = new Map(final.messages.map(({ id, position }) => [id, position]))
    for (const { name, inbox, requests } of final.agents) {
      for (const list of [inbox, requests]) {
        // messages that have expired since then are no longer in the final list
        const shown = list.flatMap(({ id }) => positions.get(id) ?? [])
        if (shown.some((place, at) => place <= (shown[at - 1] ?? 0)))
          say('lists are in order of arrival', `inbox of ${name}`)
      }
    }
  }

  function isOneDay(atMs: number): boolean {
    const first = world.attempts[0]?.startMs ?? atMs
    return Math.floor(first / 86_400_000) === Math.floor(atMs / 86_400_000)
  }
}
