/** Envelopes with one fault and with two. */
import type { Case, World } from '../../cases/case.ts'
import { answered, check, got, spendingOf } from '../../cases/check.ts'
import { outcomeOf } from '../../cases/outcome.ts'
import type { Agent } from '../../http/agent.ts'

interface Fault {
  readonly name: string
  readonly outcome: string
  /** Two faults cannot be combined if they need different values of a member. */
  readonly changes: Readonly<Record<string, unknown>>
}

const PICTURE = '😀'
const PICTURE_BYTES = 4
/** The largest signed DM has 4,000 code points, of which two are the quotes (spec 6.5). */
const MOST_PICTURES = 3_998
const UNIT_BYTES = 1_024

export const ORDER_OF_FAULTS: Case = {
  id: 'messages/order-of-faults',
  title: 'The order of faults of an envelope: of two faults, the answer names the earlier one, and nothing is left',
  spec: ['7.2', '12.2'],
  needs: ['small budget'],
  agents: 9,
  async run(world) {
    const { sender, known, newcomer, faults } = await setUp(world)
    const send = (changes: object) =>
      answered(() => sender.post('/v2/messages', { ...sender.envelope(known), ...changes }))
    const before = await spendingOf(sender)
    for (const { name, outcome, changes } of faults) check(outcomeOf(await send(changes)), outcome, name)
    await Promise.all(
      pairsOf(faults).map(async ([first, second]) => {
        const answer = await send({ ...second.changes, ...first.changes })
        check(outcomeOf(answer), first.outcome, `${first.name}, and also ${second.name}`)
      }),
    )
    check(await spendingOf(sender), before, 'the spending of the sender')
    check((await got(newcomer.get('/v2/events'))).events, [], 'the events of a recipient')
  },
}

/** Uses up the introductions and the free units of the sender. */
async function setUp(world: World) {
  const [sender, known, other, blocking, closed, contacts, asked, newcomer, revoked] = (await Promise.all(
    Array.from({ length: 9 }, () => world.agent()),
  )) as [Agent, Agent, Agent, Agent, Agent, Agent, Agent, Agent, Agent]
  const { daily_free_units = 0 } = world.server.limits
  const taken = (await got(other.send(other))).msg_id
  const open = { inbox_policy: 'open' }
  await Promise.all([known, newcomer].map((agent) => got(agent.patch('/v2/me', open))))
  for (const to of [known, asked, blocking, closed, contacts]) await got(sender.send(to))
  await got(closed.patch('/v2/me', { inbox_policy: 'closed' }))
  await got(contacts.patch('/v2/me', { inbox_policy: 'contacts' }))
  await got(blocking.put(`/v2/contacts/${sender.id}`, { state: 'blocked' }))
  await got(revoked.post('/v2/me/revoke', { confirm_agent_id: revoked.id }))
  const units = daily_free_units - (await spendingOf(sender)).units
  await got(sender.send(known, PICTURE.repeat(Math.floor((units * UNIT_BYTES) / PICTURE_BYTES) - 1)))
  check((await spendingOf(sender)).units, daily_free_units, 'the units that the sender used')

  const { authority } = world.server
  const faults: Fault[] = [
    { name: 'an undefined member', outcome: '400 invalid_request', changes: { more: 1 } },
    { name: 'shape', outcome: '400 invalid_envelope', changes: { type: 'message' } },
    { name: 'another sender', outcome: '403 sender_mismatch', changes: { from: other.id } },
    { name: 'the address of another sender', outcome: '403 sender_mismatch', changes: { from: other.address } },
    { name: 'size', outcome: '413 message_too_large', changes: { body: 'a'.repeat(33_000) } },
    { name: 'conflict', outcome: '409 id_conflict', changes: { id: taken } },
    { name: 'time', outcome: '400 envelope_timestamp_out_of_range', changes: { ts: ago(600) } },
    { name: 'time and ttl', outcome: '400 envelope_timestamp_out_of_range', changes: { ts: ago(600), ttl: 10 } },
    { name: 'expired', outcome: '400 expired', changes: { ts: ago(20), ttl: 10 } },
    { name: 'another authority', outcome: '400 recipient_not_local', changes: { to: 'nobody@example.org' } },
    { name: 'unknown', outcome: '404 recipient_unavailable', changes: { to: `nobody-here@${authority}` } },
    { name: 'revoked', outcome: '404 recipient_unavailable', changes: { to: revoked.address } },
    { name: 'no board', outcome: '404 not_found', changes: { to: `board:${'a'.repeat(24)}` } },
    { name: 'reference', outcome: '400 invalid_reference', changes: { reply_to: 'not-there-at-all' } },
    { name: 'block', outcome: '403 admission_denied', changes: { to: blocking.address } },
    { name: 'policy closed', outcome: '403 admission_denied', changes: { to: closed.address } },
    { name: 'policy contacts', outcome: '403 admission_denied', changes: { to: contacts.address } },
    { name: 'pending request', outcome: '409 request_pending', changes: { to: asked.address } },
    { name: 'introductions', outcome: '429 introduction_limit_reached', changes: { to: newcomer.address } },
    { name: 'ceiling', outcome: '429 hard_limit_reached', changes: { body: PICTURE.repeat(MOST_PICTURES) } },
    // The sender has no units left, so this fault is in every envelope.
    { name: 'units', outcome: '429 budget_exhausted', changes: {} },
  ]
  return { sender, known, newcomer, faults }
}

/** Each fault with each later one. Those with the pending request come first, because the request may expire soon. */
function pairsOf(faults: readonly Fault[]): [Fault, Fault][] {
  const pairs = faults.flatMap((first, at) => faults.slice(at + 1).map((second): [Fault, Fault] => [first, second]))
  const isPending = (pair: readonly Fault[]): number => (pair.some(({ name }) => name === 'pending request') ? 0 : 1)
  return pairs
    .filter(([first, second]) => !Object.keys(first.changes).some((member) => Object.hasOwn(second.changes, member)))
    .sort((a, b) => isPending(a) - isPending(b))
}

function ago(seconds: number): string {
  return new Date(Date.now() - seconds * 1_000).toISOString()
}
