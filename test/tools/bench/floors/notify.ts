/**
 * Floor for live delivery: one process that verifies the request signature, inserts the message and notifies in one
 * transaction, and forwards Postgres's notifications to the recipient's event stream. No nonces, no history, no leases.
 * Prints its port. Environment: FLOOR_DATABASE_URL, FLOOR_NAMES (JSON: agent id → name), and that of floor.ts.
 */
import type { ServerResponse } from 'node:http'
import { createBatcher } from '@svc/batching/batcher.ts'
import { parseAuthorization } from '@svc/svc1/headers.ts'
import postgres from 'postgres'
import { createFloor, listen, signerOf } from './floor.ts'

const sql = postgres(process.env.FLOOR_DATABASE_URL ?? '', { max: 4, onnotice: () => {} })
await sql`create schema if not exists floor`
await sql`create table if not exists floor.live (id text primary key, envelope text)`

/** By the agent's name, which is its index here. */
const streams = new Map<string, ServerResponse>()
await sql.listen('live', (payload) => {
  const [name = '', envelope = ''] = payload.split('\n')
  streams.get(name)?.write(`event: message\nid: 1\ndata: ${envelope}\n\n`)
})

const store = createBatcher<{ id: string; to: string; envelope: string }, boolean>({
  concurrency: 2,
  run: async (items) => {
    await sql`
      with stored as (
        insert into floor.live (id, envelope)
        select * from unnest(${items.map((i) => i.id)}::text[], ${items.map((i) => i.envelope)}::text[])
        on conflict do nothing
      )
      select pg_notify('live', u.name || E'\n' || u.envelope)
      from unnest(${items.map((i) => i.to)}::text[], ${items.map((i) => i.envelope)}::text[]) as u (name, envelope)`
    return items.map(() => true)
  },
})

const app = createFloor()
app.post<{ Body: Buffer }>('/v2/messages', async (request, reply) => {
  if (signerOf(request, request.body) === undefined) return reply.code(401).send({})
  const envelope = request.body.toString()
  const { id, to } = JSON.parse(envelope) as { id: string; to: string }
  await store({ id, to: to.slice(0, to.indexOf('@')), envelope })
  return reply.code(202).send({ msg_id: id })
})
app.get<{ Headers: { authorization?: string } }>('/v2/stream', (request, reply) => {
  const { agentId = '' } = parseAuthorization(request.headers.authorization ?? '') ?? {}
  reply.hijack()
  reply.raw.writeHead(200, { 'Content-Type': 'text/event-stream' })
  reply.raw.write('retry: 1000\n\n')
  streams.set(names.get(agentId) ?? '', reply.raw)
})

const names = new Map<string, string>(
  Object.entries(JSON.parse(process.env.FLOOR_NAMES ?? '{}') as Record<string, string>),
)

await listen(app)
