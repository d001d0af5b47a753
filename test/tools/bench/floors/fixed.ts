/** Floor: Fastify with a fixed answer 202, and no work. Prints its port. */
import Fastify from 'fastify'

const app = Fastify()
const answer = JSON.stringify({
  msg_id: 'x'.repeat(22),
  status: 'accepted',
  lane: 'inbox',
  duplicate: false,
  sender_authenticated: true,
})
app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
app.post('/v2/messages', async (_request, reply) => reply.code(202).type('application/json').send(answer))
await app.listen({ host: '127.0.0.1', port: 0 })
const address = app.server.address()
process.stdout.write(`${typeof address === 'object' ? address?.port : address}\n`)
process.on('SIGTERM', () => process.exit(0))
