/**
 * Checks that votes count once, that posts reach all subscribers and only agents that may read them, and that roles are as
 * they were set. Source: spec 8.5, 8.7, 8.8, 8.10, 9.5.
 */
import { LATE_MS } from '../../model/register.ts'
import type { Final } from '../final.ts'
import type { Violation } from '../violation.ts'
import type { World } from '../world.ts'

export function checkBoards(world: World, final: Final, atMs: number): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  checkVotes()
  checkSubscribers()
  checkEvents()
  checkRoles()
  return violations

  function checkVotes(): void {
    const cast = Map.groupBy(final.votes, ({ message }) => message)
    const shown = new Map(
      final.boards.flatMap(({ feed = [] }) => feed.map(({ id, upvotes }) => [id, upvotes] as const)),
    )
    for (const { id, lane, purged, upvotes } of final.messages) {
      if (lane !== 'board' || purged) continue
      const voters = (cast.get(id) ?? []).map(({ voter }) => voter)
      if (new Set(voters).size !== voters.length) say('votes: once per identity', `${id}: ${voters}`)
      if (upvotes !== voters.length) say('votes are exact', `${id} has ${upvotes}, and ${voters.length} voters`)
      const told = shown.get(id)
      if (told !== undefined && told !== voters.length)
        say('votes are exact', `${id} is shown with ${told} votes, but has ${voters.length}`)
      for (const voter of world.agents) {
        const possible = world.vote.of(id, voter).possible(atMs, atMs)
        if (!possible.has(voters.includes(voter)))
          say('votes are exact', `${id} ${voters.includes(voter) ? 'has' : 'lacks'} the vote of ${voter}`)
      }
    }
  }

  function checkSubscribers(): void {
    const logs = Map.groupBy(final.entries, ({ message }) => message)
    for (const { accepted, attempts, id } of world.sends.values()) {
      if (accepted === undefined || !accepted.isPost || accepted.to === null || accepted.ttl > 0) continue
      const tries = attempts.filter(
        ({ call, status, unknown }) => call.sent.digest === accepted.digest && (unknown || (status ?? 400) < 300),
      )
      const done = tries.find(({ status }) => status === 202)
      const begin = Math.min(...tries.map(({ startMs }) => startMs))
      const end = done?.endMs ?? Math.max(...tries.map(({ startMs }) => startMs)) + LATE_MS
      const reached = new Set((logs.get(id) ?? []).map(({ log }) => log))
      for (const agent of world.agents) {
        if (agent === accepted.from) {
          if (reached.has(agent)) say('posts: none to the author', id)
          continue
        }
        const roles = [...world.roles(accepted.to, agent, begin, end)]
        const subscribed = roles.map((role) => role !== 'none' && role !== 'banned')
        if (subscribed.every(Boolean) && !reached.has(agent))
          say('posts: to every subscriber', `${id} did not reach ${agent}`)
        if (!subscribed.some(Boolean) && reached.has(agent)) say('posts: to nobody else', `${id} reached ${agent}`)
      }
    }
  }

  /**
   * In the end each agent finds the events of all posts that it may read, whether it is still subscribed or not (spec 9.5).
   */
  function checkEvents(): void {
    const hidden = new Set(final.messages.filter((message) => message.hidden).map(({ id }) => id))
    for (const { id: agent, name, revoked, events } of final.agents) {
      if (revoked) continue
      const shown = new Set(events.map(({ cursor }) => cursor))
      for (const { log, kind, message, position } of final.entries) {
        if (log !== agent || kind !== 'board' || shown.has(position) || hidden.has(message)) continue
        const sent = world.sends.get(message)?.accepted
        if (sent === undefined || sent.to === null || sent.ttl > 0) continue
        if (!world.mayRead(sent.to, agent, atMs, atMs).has(false))
          say('posts: an event for every readable post', `${name} does not find ${message} at ${position}`)
      }
    }
  }

  function checkRoles(): void {
    const records = new Map(final.memberships.map(({ board_id, agent_id, role }) => [`${board_id} ${agent_id}`, role]))
    for (const board of world.boards.keys()) {
      for (const agent of world.agents) {
        const role = records.get(`${board} ${agent}`) ?? 'none'
        const possible: ReadonlySet<string> = world.roles(board, agent, atMs, atMs)
        if (!possible.has(role))
          say('roles are what was set', `${agent} is ${role} on ${board}; possible are ${[...possible]}`)
      }
    }
  }
}
