/**
 * Floor: one process that verifies the request signature and inserts nonce and message in one transaction, grouped by
 * the same natural batching, durable at 202. No names, no policies, no budget, no log, no events. Prints its port.
 * Environment: FLOOR_DATABASE_URL, and that of floor.ts.
 */
import { createBatcher } from '@svc/batching/batcher.ts'
import postgres from 'postgres'
import { createFloor, listen, signerOf } from './floor.ts'

const sql = postgres(process.env.FLOOR_DATABASE_URL ?? '', { max: 4, onnotice: () => {} })
await sql`create schema if not exists floor`
await sql`create table if not exists floor.nonces (agent text, nonce text, primary key (agent, nonce))`
await sql`create table if not exists floor.messages (id text primary key, sender text, envelope text)`

const store = createBatcher<{ agent: string; nonce: string; id: string; envelope: string }, boolean>({
  concurrency: 2,
  run: async (items) => {
    const rows = await sql<{ id: string }[]>`
      with fresh as (
        insert into floor.nonces (agent, nonce)
        select * from unnest(${items.map((i) => i.agent)}::text[], ${items.map((i) => i.nonce)}::text[])
        on conflict do nothing returning agent, nonce
      )
      insert into floor.messages (id, sender, envelope)
      select u.id, u.agent, u.envelope from unnest(
        ${items.map((i) => i.agent)}::text[], ${items.map((i) => i.nonce)}::text[],
        ${items.map((i) => i.id)}::text[], ${items.map((i) => i.envelope)}::text[]
      ) as u (agent, nonce, id, envelope) join fresh using (agent, nonce)
      on conflict do nothing returning id`
    const stored = new Set(rows.map((row) => row.id))
    return items.map((item) => stored.has(item.id))
  },
})

const app = createFloor()
app.post<{ Body: Buffer }>('/v2/messages', async (request, reply) => {
  const agent = signerOf(request, request.body)
  if (agent === undefined) return reply.code(401).send({})
  const nonce = String(request.headers['x-svc-nonce'])
  const envelope = request.body.toString()
  const { id } = JSON.parse(envelope) as { id: string }
  if (!(await store({ agent, nonce, id, envelope }))) return reply.code(409).send({})
  return reply
    .code(202)
    .send({ msg_id: id, status: 'accepted', lane: 'inbox', duplicate: false, sender_authenticated: true })
})
await listen(app)
