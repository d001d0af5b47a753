/** Floor: Fastify with a fixed answer 202, and no work. Prints its port. */
import { createFloor, listen } from './floor.ts'

const app = createFloor()
const answer = JSON.stringify({
  msg_id: 'x'.repeat(22),
  status: 'accepted',
  lane: 'inbox',
  duplicate: false,
  sender_authenticated: true,
})
app.post('/v2/messages', async (_request, reply) => reply.code(202).type('application/json').send(answer))
await listen(app)
