/**
 * Floor: one process that verifies the request signature and inserts nonce and message in one transaction, grouped by
 * the same natural batching, durable at 202. No names, no policies, no budget, no log, no events. Prints its port.
 * Environment: FLOOR_DATABASE_URL, FLOOR_AUTHORITY, FLOOR_KEYS (JSON: agent id → public key in hex), FLOOR_ENGINE (`libsodium`,
 * as in the system if it can be loaded, or `node:crypto`).
 */
import { createHash } from 'node:crypto'
import { createBatcher } from '@svc/batching/batcher.ts'
import { parseAuthorization } from '@svc/svc1/headers.ts'
import { ENGINE, NODE_ENGINE } from '@svc/svc1/node/engine.ts'
import { importPublicKey, type VerifyKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import Fastify from 'fastify'
import postgres from 'postgres'

const authority = process.env.FLOOR_AUTHORITY ?? ''
const engine = process.env.FLOOR_ENGINE === 'libsodium' ? ENGINE : NODE_ENGINE
const keys = new Map<string, VerifyKey>(
  Object.entries(JSON.parse(process.env.FLOOR_KEYS ?? '{}') as Record<string, string>).map(([id, hex]) => [
    id,
    importPublicKey(Buffer.from(hex, 'hex'), engine),
  ]),
)
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

const app = Fastify()
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post<{ Body: Buffer }>('/v2/messages', async (request, reply) => {
  const { headers } = request
  const authorization = parseAuthorization(headers.authorization ?? '')
  const key = keys.get(authorization?.agentId ?? '')
  const timestamp = String(headers['x-svc-timestamp'])
  const nonce = String(headers['x-svc-nonce'])
  const signed = signedString({
    authority,
    method: 'POST',
    target: request.raw.url ?? '',
    timestamp,
    nonce,
    bodySha256Hex: createHash('sha256').update(request.body).digest('hex'),
  })
  if (
    authorization === undefined ||
    key === undefined ||
    !verifyRequestNode(authorization.signature, Buffer.from(signed), key)
  ) {
    return reply.code(401).send({})
  }
  const envelope = request.body.toString()
  const { id } = JSON.parse(envelope) as { id: string }
  if (!(await store({ agent: authorization.agentId, nonce, id, envelope }))) return reply.code(409).send({})
  return reply
    .code(202)
    .send({ msg_id: id, status: 'accepted', lane: 'inbox', duplicate: false, sender_authenticated: true })
})
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : address}\n`)
process.on('SIGTERM', () => process.exit(0))
