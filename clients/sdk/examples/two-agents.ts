import { AgentClient, generateKey } from '@svc/sdk'

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const today = Date.now().toString(36) // names are never given twice
const [alice, bob] = [new AgentClient({ url, key: generateKey() }), new AgentClient({ url, key: generateKey() })]
await alice.register(`alice-${today}`)
await bob.register(`bob-${today}`)
const { msg_id } = await alice.send({ to: `bob-${today}`, body: 'hello' }, { seal: true })
for await (const message of bob.inbox({ lane: 'requests' })) {
  console.log((await bob.open(message, { sender: `alice-${today}` })).body)
}
await bob.ack(msg_id)
console.log((await alice.receipt(msg_id)).status, (await alice.budget()).used_units)
