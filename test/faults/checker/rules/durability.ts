/**
 * Checks that every accepted message is stored once, in the right place and as it was sent, and that refused messages are
 * stored nowhere. Source: spec 7.1, 7.4, 7.6, 7.9, 7.10, 8.8, 8.9, 9.3.
 */
import type { Attempt } from '../../history/attempts.ts'
import type { Seen, Sent } from '../../history/calls.ts'
import type { Final, FinalAgent } from '../final.ts'
import type { SentId } from '../sends.ts'
import type { Violation } from '../violation.ts'

/** A message may expire between two reads of it. */
const EXPIRY_SLACK_MS = 2_000

export function checkDurability(
  sends: ReadonlyMap<string, SentId>,
  final: Final,
  contacts: readonly Attempt<'contact'>[],
  { readFromMs, readUntilMs }: { readFromMs: number; readUntilMs: number },
): Violation[] {
  const violations: Violation[] = []
  const say = (rule: string, text: string): void => void violations.push({ rule, text })
  const stored = new Map(final.messages.map((message) => [message.id, message]))
  const agents = new Map(final.agents.map((agent) => [agent.id, agent]))
  const boardIds = new Set(final.boards.map(({ id }) => id))

  for (const sent of sends.values()) {
    if (sent.answered !== undefined && !stored.has(sent.id)) {
      say('durability: each 202 is readable', `${sent.id} was answered ${answersOf(sent)}, but is stored nowhere`)
    }
    const digests = new Set(
      sent.attempts.filter(({ status }) => status === 200 || status === 202).map(({ call }) => call.sent.digest),
    )
    if (digests.size > 1)
      say('one effect per message id', `${sent.id} was accepted as ${digests.size} different envelopes`)
    const accepted = sent.attempts.filter(({ status }) => status === 202)
    if (accepted.length > 1) say('one effect per message id', `${sent.id} was answered 202 ${accepted.length} times`)
    if (sent.accepted !== undefined && !sent.accepted.isPost) checkDm(sent.accepted, sent.attempts)
  }
  for (const agent of final.agents) checkShown(agent)
  checkFeeds()
  checkEntries()
  return violations

  /** Checks that a message is in both exports, and in one lane of the recipient. */
  function checkDm(sent: Sent, told: readonly Attempt<'send'>[]): void {
    const row = stored.get(sent.id)
    if (row === undefined || row.purged || mayHaveExpired(sent, readUntilMs)) return
    const [sender, recipient] = [sent.from, sent.to ?? ''].map((id) => agents.get(id))
    for (const participant of new Set([sender, recipient])) {
      if (participant === undefined || participant.revoked) continue
      const count = participant.exported.filter(({ id }) => id === sent.id).length
      if (count !== 1) say('durability: export', `${sent.id} is ${count} times in the export of ${participant.name}`)
    }
    if (recipient === undefined || recipient.revoked) return
    const lanes = [recipient.inbox, recipient.requests].map((lane) => lane.filter(({ id }) => id === sent.id).length)
    if (lanes[0] !== Number(row.lane === 'inbox') || lanes[1] !== Number(row.lane === 'requests')) {
      say(
        'delivered exactly where it should be',
        `${sent.id}, lane ${row.lane}, is ${lanes} times in inbox and requests`,
      )
    }
    const kinds = recipient.events.filter(({ id }) => id === sent.id).map(({ lane }) => lane)
    // spec 7.7: accepting moves the waiting request, and later messages go straight to the inbox
    const waiting = told.find(({ status, body }) => status === 202 && body.lane === 'requests')
    const accepts = contacts.filter(
      ({ call, actor, status }) =>
        actor === sent.to && call.other === sent.from && call.state === 'accepted' && status === 200,
    )
    if (row.lane === 'requests' && waiting && accepts.some(({ startMs }) => startMs > waiting.endMs)) {
      say('promoted with the acceptance', `${sent.id} is still a request, although its sender was accepted`)
    }
    const expected = row.request_position === null ? [row.lane] : ['requests', 'inbox']
    if (kinds.join() !== expected.join()) {
      say('one event for each arrival', `${sent.id} has the events [${kinds}] but should have [${expected}]`)
    }
  }

  /** Checks that an agent is shown no message that was refused, changed, or not sent to it. */
  function checkShown({ id: agentId, name, inbox, requests, events, exported }: FinalAgent): void {
    const lists = { inbox, requests, events, exported }
    for (const [list, messages] of Object.entries(lists)) {
      for (const message of messages) checkSeen(message, `${list} of ${name}`, agentId)
    }
  }

  function checkSeen(message: Seen, where: string, agentId: string): void {
    const known = sends.get(message.id)
    const tried = known?.attempts.find(({ call }) => call.sent.digest === message.digest)
    if (known === undefined || tried === undefined) {
      say('messages are shown as they were sent', `${message.id} in ${where} was never sent like this`)
      return
    }
    const { sent } = tried.call
    const told = known.attempts.filter(({ call }) => call.sent.digest === message.digest)
    if (told.every(({ status, unknown }) => !unknown && status !== 200 && status !== 202)) {
      const statuses = told.map(({ status, body }) => `${status} ${body.code}`)
      say('no refused message is delivered', `${message.id} in ${where} was answered ${statuses}`)
    }
    if (!sent.isPost && sent.from !== agentId && sent.to !== agentId) {
      say('delivered exactly where it should be', `${message.id} in ${where} is between ${sent.from} and ${sent.to}`)
    }
  }

  function checkFeeds(): void {
    for (const { id: board, feed } of final.boards) {
      if (feed === undefined) continue
      const shown = feed.map(({ id }) => id)
      if (new Set(shown).size !== shown.length) say('a feed has each post once', `${board} has some twice`)
      for (const message of feed) checkSeen(message, `the feed of ${board}`, '')
      for (const { answered } of sends.values()) {
        if (answered === undefined || answered.to !== board || mayHaveExpired(answered, readUntilMs)) continue
        const row = stored.get(answered.id)
        if (row === undefined || row.purged) continue
        if (shown.includes(answered.id) === row.hidden) {
          say('durability: feeds', `${answered.id} is ${row.hidden ? 'hidden and' : 'not'} in the feed of ${board}`)
        }
      }
    }
  }

  /** Checks the schema: the positions of a log have no gaps except purged entries, and each arrival has one entry. */
  function checkEntries(): void {
    const byLog = Map.groupBy(final.entries, ({ log }) => log)
    const purgeable = [...sends.values()].some(({ attempts }) => attempts.some(({ call }) => call.sent.ttl > 0))
    for (const [log, entries] of byLog) {
      const positions = entries.map(({ position }) => position)
      const head = final.heads[log] ?? 0
      if (new Set(positions).size !== positions.length)
        say('cursors are given once', `the log of ${log} has a position twice`)
      if (positions.some((position) => position > head))
        say('cursors are contiguous', `${log} has entries beyond its head ${head}`)
      const missing = head - positions.length
      const purged = purgedArrivals(log)
      if (missing < 0 || missing > (purgeable ? purged : 0)) {
        say(
          'cursors are contiguous',
          `${log} has ${positions.length} entries up to its head ${head}, and at most ${purged} purged ones`,
        )
      }
      for (const [message, arrivals] of Map.groupBy(entries, (entry) => entry.message)) {
        const row = stored.get(message)
        const expected = row?.request_position == null ? 1 : 2
        if (arrivals.length !== expected) {
          say(
            'delivered once',
            `${message} has ${arrivals.length} entries in the log of ${log}, but should have ${expected}`,
          )
        }
      }
    }
  }

  /** The largest number of entries in one agent's log that may have expired. */
  function purgedArrivals(log: string): number {
    let count = 0
    for (const { accepted, attempts } of sends.values()) {
      const candidates = accepted === undefined ? attempts.map(({ call }) => call.sent) : [accepted]
      const expiring = candidates.filter((sent) => mayHaveExpired(sent, readUntilMs))
      if (expiring.some(({ to }) => to === log)) count += 2
      else if (expiring.some(({ to }) => to !== null && boardIds.has(to))) count += 1
    }
    return count
  }

  function mayHaveExpired({ ttl, tsMs }: Sent, atMs: number): boolean {
    return ttl > 0 && tsMs + ttl * 1_000 <= Math.max(atMs, readFromMs) + EXPIRY_SLACK_MS
  }
}

function answersOf({ attempts }: SentId): string {
  return attempts.map(({ status, body }) => `${status}${body.code === undefined ? '' : ` ${body.code}`}`).join(', ')
}
