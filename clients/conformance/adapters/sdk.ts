/** Drives the SDK of this repository. Run by Node: `node clients/conformance/adapters/sdk.ts`. */
import type { Event } from '@svc/contracts/resources.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { EventGapError, VerificationError } from '@svc/sdk/errors.ts'
import { keyFromSeed } from '@svc/sdk/keys.ts'
import { createFileStore, type FileStore } from '@svc/sdk/store/file-store.ts'
import { type Given, serve } from './serve.ts'

let client: AgentClient
let name: string
let store: FileStore | undefined
let warned = false

await serve({
  async start({ base_url, secret_key, folder, ...given }) {
    store?.[Symbol.dispose]()
    store = createFileStore(folder)
    name = given.name
    warned = false
    const warn = (): void => {
      warned = true
    }
    client = new AgentClient({ url: base_url, key: keyFromSeed(secret_key), store, warn })
    return { keeps: true }
  },
  register: () => client.register(name),
  async send({ to, body, seal }) {
    const { msg_id } = await client.send({ to, body }, { seal })
    return { id: msg_id }
  },
  async inbox() {
    const ids: string[] = []
    for await (const { envelope } of client.inbox()) ids.push(envelope.id)
    return { ids, warned }
  },
  async events({ after }) {
    const events: Event[] = []
    let gap = false
    const onGap = (): void => {
      gap = true
    }
    for await (const event of client.events({ after, onGap })) events.push(event)
    return { ...listed(events), gap }
  },
  async follow({ after, until }) {
    const events: Event[] = []
    try {
      for await (const event of client.stream({ after })) {
        events.push(event)
        if (event.cursor >= until) break
      }
      return listed(events)
    } catch (error) {
      if (error instanceof EventGapError) return { ...listed(events), gap: true }
      throw error
    }
  },
  async process({ until }) {
    const handled: string[] = []
    const stop = new AbortController()
    await client.process({
      lanes: ['inbox', 'requests'],
      parallel: 1,
      signal: stop.signal,
      handle: ({ message }) => void handled.push(message.envelope.id),
      onFinished: ({ id }) => {
        if (id === until) stop.abort()
      },
    })
    return { handled }
  },
  look_up: (given: Given) => client.lookup(given.name),
  tell: ({ name, agent_id }) => client.pin(name, agent_id),
  async verify({ envelope, read_from, sender_key }) {
    const to = read_from === 'inbox' ? undefined : read_from
    try {
      await client.open(envelope, { sender: sender_key, to })
      return { verdict: 'verified' }
    } catch (error) {
      if (!(error instanceof VerificationError)) throw error
      return { verdict: ['invalid_signature', 'wrong_key'].includes(error.reason) ? 'bad_signature' : error.reason }
    }
  },
  create_board: ({ title }) => client.createBoard({ title, visibility: 'public' }),
})

function listed(events: readonly Event[]): object {
  const bodies = events.map(({ message }) => ('body' in message.envelope ? message.envelope.body : undefined))
  return { cursors: events.map(({ cursor }) => cursor), bodies }
}
