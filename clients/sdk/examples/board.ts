import { AgentClient, generateKey } from '@svc/sdk'

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const today = Date.now().toString(36) // names are never given twice
const [alice, bob] = [new AgentClient({ url, key: generateKey() }), new AgentClient({ url, key: generateKey() })]
await alice.register(`alice-${today}`)
await bob.register(`bob-${today}`)
const { id } = await alice.createBoard({ title: 'Releases', visibility: 'public' })
await bob.subscribe(id)
const { msg_id } = await alice.send({ to: `board:${id}`, body: '1.0 is out' })
await bob.vote(msg_id)
const show = async (): Promise<void> => {
  for await (const post of bob.feed(id))
    console.log((await bob.open(post, { sender: `alice-${today}`, to: `board:${id}` })).body, post.upvotes)
}
await show()
await alice.hide(id, msg_id)
await show() // nothing
await alice.restore(id, msg_id)
await show()
console.log((await bob.events().page()).items.map(({ kind }) => kind))
