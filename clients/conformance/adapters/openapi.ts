/**
 * Drives a client that `@hey-api/openapi-ts` generated from our `/openapi.json`: `node openapi.ts FOLDER`. The folder holds the compiled
 * `sdk.gen.js`. A description cannot say how requests and envelopes are signed, so that is done here, and nothing else.
 */
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { signEnvelope } from '@svc/envelope/sign-envelope.ts'
import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import { type Given, serve, Unsupported } from './serve.ts'

const folder = process.argv[2] ?? ''
const load = (file: string): Promise<Given> => import(pathToFileURL(join(folder, file)).href)
const api: Given = await load('sdk.gen.js')
const { createClient } = await load('client/index.js')

let client: unknown
let key: KeyPair
let authority: string
let address: string

/** The client calls it for each try, its own repeats of a stream included. */
async function signedFetch(request: Request): Promise<Response> {
  const { method, url } = request
  const { pathname, search } = new URL(url)
  const body = Buffer.from(await request.clone().arrayBuffer())
  const signed = signRequest(key, {
    authority,
    method,
    target: pathname + search,
    ...(body.length > 0 ? { body } : {}),
  })
  for (const [name, value] of Object.entries(signed)) request.headers.set(name, value)
  return fetch(request, { redirect: 'manual' })
}

async function call(name: string, options: object = {}): Promise<Given> {
  const { data, error } = await api[name]({ client, ...options })
  if (data === undefined) throw Object.assign(new Error(name), { code: error?.error?.code ?? 'no_answer' })
  return data
}

await serve({
  async start({ base_url, name, secret_key }) {
    key = createKeyPair(Buffer.from(secret_key, 'hex'))
    client = createClient({ baseUrl: base_url, fetch })
    authority = (await call('getManifest')).authority
    client = createClient({ baseUrl: base_url, fetch: signedFetch })
    address = `${name}@${authority}`
    return {}
  },
  async send({ to, body, seal }) {
    if (seal) throw new Unsupported('sealing')
    const draft = {
      id: crypto.randomUUID(),
      from: address,
      to,
      type: 'event',
      ts: new Date().toISOString(),
      body,
    } as const
    return { id: (await call('sendMessage', { body: signEnvelope(draft, key.secretKey) })).msg_id }
  },
  async inbox() {
    const ids: string[] = []
    for (let after: string | undefined; after !== ''; ) {
      const page = await call('listInbox', { query: { after } })
      ids.push(...page.messages.map(({ envelope }: Given) => envelope.id))
      after = page.next_cursor
    }
    return { ids }
  },
  async events({ after }) {
    const events: Given[] = []
    for (let from = after; ; ) {
      const page = await call('listEvents', { query: { after: from } })
      events.push(...page.events)
      if (page.next_cursor === from) return listed(events)
      from = page.next_cursor
    }
  },
  async follow({ after, until }) {
    const events: Given[] = []
    const stop = new AbortController()
    const { stream } = await api.openStream({ client, query: { after }, signal: stop.signal })
    for await (const data of stream) {
      if (data.message !== undefined) events.push(data)
      if (data.message !== undefined && data.cursor >= until) break
    }
    stop.abort()
    return listed(events)
  },
  create_board: ({ title }) => call('createBoard', { body: { title, visibility: 'public' } }),
})

function listed(events: readonly Given[]): object {
  return { cursors: events.map(({ cursor }) => cursor), bodies: events.map(({ message }) => message.envelope.body) }
}
