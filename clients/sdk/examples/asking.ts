import { AgentClient, generateKey } from '@svc/sdk'

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const [to = 'echo-agent'] = process.argv.slice(2)
const alice = new AgentClient({ url, key: generateKey() })
await alice.register(`alice-${Date.now().toString(36)}`)
const { body, sender } = await alice.request(to, { add: [1, 2] }, { seal: true, timeoutMs: 30_000 })
console.log(sender?.name === to, body)
