import { AgentClient, formatKey, generateKey, parseKey } from '@svc/sdk'
import { createFileStore } from '@svc/sdk/file-store'

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const [name = 'echo-agent'] = process.argv.slice(2)
const store = createFileStore(name) // a folder for the key, and for everything else that must survive a crash
const saved = await store.get('key')
const key = saved === undefined ? generateKey() : parseKey(saved)
await store.set('key', formatKey(key))
const agent = new AgentClient({ url, key, store })
await agent.register(name) // changes nothing if the name is registered with this key
await agent.process({
  lanes: ['inbox', 'requests'], // contacts and strangers
  accept: true, // strangers become contacts, which costs one unit each
  handle: ({ body, sender }) => ({ hello: sender?.name, you_said: body }),
})
