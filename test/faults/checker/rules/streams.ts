/** Checks that streams lose nothing, repeat nothing and keep the order, whatever has failed. Source: spec 8.9, 9.3, 9.4, 9.7. */
import type { Entry, StreamEntry } from '../../history/history.ts'
import type { Final } from '../final.ts'
import type { Violation } from '../violation.ts'
import type { World } from '../world.ts'

export function checkStreams(world: World, entries: readonly Entry[], final: Final, atMs: number): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  const clients = Map.groupBy(
    entries.filter((entry) => entry.type === 'stream'),
    ({ actor, client }) => `${actor} ${client}`,
  )
  const names = new Map(final.agents.map((agent) => [agent.id, agent]))
  for (const all of clients.values()) {
    const agent = names.get(all[0]?.actor ?? '')
    if (agent !== undefined) checkClient(agent, all)
  }
  return violations

  function checkClient({ id: agent, name, revoked }: Final['agents'][number], all: readonly StreamEntry[]): void {
    const delivered = all.filter(({ event }) => event === 'message')
    let last = 0
    for (const { event, cursor, connection } of all) {
      if (event === 'message' && cursor <= last)
        say('streams: in order and not repeated', `${name}: ${cursor} behind ${last}, connection ${connection}`)
      if (event === 'cursor' && cursor < last) say('streams: cursors rise', `${name}: ${cursor} after ${last}`)
      if (event === 'message' || event === 'cursor') last = Math.max(last, cursor)
    }
    const byCursor = new Map(delivered.map((one) => [one.cursor, one]))
    const logged = final.entries.filter(({ log }) => log === agent)
    for (const { position, message, kind } of logged) {
      const one = byCursor.get(position)
      if (one === undefined) {
        if (!revoked && !mayBeSkipped(agent, message, kind))
          say('streams: nothing is lost', `${name} never got ${kind} ${message} at ${position}`)
      } else if (one.id !== message || one.kind !== kind) {
        say(
          'streams: a cursor keeps its event',
          `${name} got ${one.kind} ${one.id} at ${position}, where the log has ${kind} ${message}`,
        )
      }
    }
    for (const { id = '', digest, cursor } of delivered) {
      const tried = world.sends.get(id)?.attempts.some(({ call }) => call.sent.digest === digest)
      if (tried !== true)
        say(
          'messages are shown as they were sent',
          `${id} at ${cursor} in the stream of ${name} was never sent like this`,
        )
    }
  }

  /** Whether the event is skipped (spec 9.4): it expired, was hidden, or is on a board that the agent could not read for some time. */
  function mayBeSkipped(agent: string, message: string, kind: string): boolean {
    const sent = world.sends.get(message)?.accepted
    if (sent === undefined || sent.ttl > 0) return true
    if (kind !== 'board' || sent.to === null) return false
    const hidden = world.hidden.of(message).possible(0, atMs)
    // Count from the time of the message, because its entry did not exist before.
    return hidden.has(true) || world.mayRead(sent.to, agent, sent.tsMs, atMs).has(false)
  }
}
