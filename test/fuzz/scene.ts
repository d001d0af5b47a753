/** A running system that contains something of every kind, and a snapshot of everything that refused requests must not change. */
import postgres from 'postgres'
import type { Agent } from '../support/client/agent.ts'
import { got } from '../support/client/answers.ts'
import { untilResolved } from '../support/system/books.ts'
import type { SharedHarness } from '../support/system/harness.ts'

export interface Scene extends AsyncDisposable {
  readonly h: SharedHarness
  /** Two agents that know each other, a stranger, and a revoked agent. */
  readonly alice: Agent
  readonly bob: Agent
  readonly stranger: Agent
  readonly revoked: Agent
  /** Ids of boards: a public one, and a private one of alice with bob as its writer. */
  readonly publicBoard: string
  readonly privateBoard: string
  /** Ids of messages: from alice to bob, posts on both boards, a hidden post of bob on the public one. */
  readonly dm: string
  readonly publicPost: string
  readonly privatePost: string
  readonly hiddenPost: string
  /** A hash of everything in the stores, except nonces, challenges and the records of charges. Only of a system of its own. */
  digest(): Promise<string>
}

/** Tables that may change although an operation was refused: by the nonce, by a released charge, or by background work. */
const BOOKKEEPING = [
  'identity.nonces',
  'identity.nonces_0',
  'identity.nonces_1',
  'identity.nonces_2',
  'identity.consumed_challenges',
  'identity.operations',
  'boards.operations',
  'messaging.operations',
  'messaging.message_fences',
  'budget.reservations',
  'budget.reservations_0',
  'budget.reservations_1',
  'budget.reservations_2',
  'stream.leases',
  'stream.processes',
  'webhook.jobs',
  'webhook.operations',
  'webhook.reconciliation', // reconciliation runs by the clock
  'webhook.retired',
]
/** Columns that are written in the background, after the answer. */
const SETTLED_LATER: Record<string, string> = {
  'webhook.endpoints': "string_agg(agent_id || coalesce(configuration::text, ''), ',' order by agent_id)",
  'budget.introductions': "md5(string_agg(agent_id || ' ' || peer || ' ' || day, '|' order by agent_id, peer))",
}
const NOTHING_BUT_ZEROS = 'where used_units <> 0 or credit_balance <> 0 or used_introductions <> 0'

/** @param h whose agents have units for everything. It is disposed with the scene. */
export async function startScene(h: SharedHarness): Promise<Scene> {
  const admin = postgres(h.system.database.adminUrl, { max: 2, onnotice: () => {} })
  const [alice, bob, stranger, revoked] = await h.agents(4)
  for (const agent of [alice, bob, stranger])
    await got(agent.patch('/v2/me', { inbox_policy: 'open', discoverable: true }))
  await got(revoked.post('/v2/me/revoke', { confirm_agent_id: revoked.id }))
  const newBoard = async (board: object): Promise<string> => (await got(alice.post('/v2/boards', board))).body.id
  const post = async (author: Agent, to: Agent | string): Promise<string> => (await got(author.send(to))).body.msg_id
  const publicBoard = await newBoard({ title: 'public', visibility: 'public', posting: 'anyone' })
  const privateBoard = await newBoard({ title: 'private', visibility: 'private' })
  await got(alice.put(`/v2/boards/${privateBoard}/members/${bob.id}`, { role: 'writer' }))
  const [dm, publicPost, privatePost, hiddenPost] = [
    await post(alice, bob),
    await post(alice, `board:${publicBoard}`),
    await post(bob, `board:${privateBoard}`),
    await post(bob, `board:${publicBoard}`),
  ]
  await got(alice.put(`/v2/boards/${publicBoard}/messages/${hiddenPost}/visibility`, { hidden: true }))
  const tables = await admin<{ name: string }[]>`
    select schemaname || '.' || tablename as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema') order by 1`
  const counted = tables.map(({ name }) => name).filter((name) => !BOOKKEEPING.includes(name))

  return {
    h,
    alice,
    bob,
    stranger,
    revoked,
    publicBoard,
    privateBoard,
    dm,
    publicPost,
    privatePost,
    hiddenPost,
    async digest() {
      // The charge of a refused request is released before the answer or, if that takes long, in the background.
      await untilResolved(admin)
      const parts = counted.map((name) => {
        const hash = SETTLED_LATER[name] ?? "md5(string_agg(t::text, '|' order by t::text))"
        return `select '${name}' as name, ${hash} as hash from ${name} t ${name === 'budget.accounts' ? NOTHING_BUT_ZEROS : ''}`
      })
      const rows = await admin.unsafe<{ name: string; hash: string | null }[]>(parts.join(' union all '))
      return rows.map(({ name, hash }) => `${name} ${hash}`).join('\n')
    },
    async [Symbol.asyncDispose]() {
      await admin.end()
      await h[Symbol.asyncDispose]()
    },
  }
}
