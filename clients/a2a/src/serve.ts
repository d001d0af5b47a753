import { join } from 'node:path'
import type { Writable } from 'node:stream'
import { StartError } from '@svc/mcp/errors.ts'
import { createLog } from '@svc/mcp/log.ts'
import { folderOf } from '@svc/mcp/startup/start.ts'
import { makeOwnFolder } from '@svc/mcp/store/files.ts'
import { readOrMakeToken } from '@svc/mcp/store/http-token.ts'
import { readKeyFile } from '@svc/mcp/store/key-file.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { ApiError } from '@svc/sdk/errors.ts'
import { sleep } from '@svc/sdk/http/waiting.ts'
import { isPassing } from '@svc/sdk/process/waits.ts'
import { createFileStore } from '@svc/sdk/store/file-store.ts'
import { Shelf } from '@svc/sdk/store/shelf.ts'
import { derivedId } from '@svc/svc1/derived-id.ts'
import { LocalAgent } from './agent.ts'
import { localCard } from './card.ts'
import { Cards } from './cards.ts'
import { ContactHandler } from './contact-handler.ts'
import { type Contact, Contacts } from './contacts.ts'
import { serveOverHttp } from './http.ts'
import { Inbound, reasonOf } from './inbound.ts'
import { type Groups, takePiece } from './joiner.ts'
import { type Kept, Outbox, type Outgoing } from './outbox.ts'
import { Pushes, type PushRules } from './pushes.ts'
import { Reports } from './reports.ts'
import { KEPT_MS, TaskBook, type TaskRecord } from './tasks.ts'
import { type InboundTurn, Turns } from './turns.ts'
import { decodePiece, encodeWire, type Wire } from './wire.ts'

export interface ServeOptions {
  readonly url: string
  readonly authority?: string | undefined
  readonly keyPath: string
  /** Default: `<keyPath>.a2a`. */
  readonly statePath?: string | undefined
  readonly port: number
  /** Default: `<keyPath>.token`. */
  readonly tokenPath?: string | undefined
  /** The local agent's A2A URL, if contacts may reach it. */
  readonly agentUrl?: string | undefined
  /** Its bearer token, if it wants one. */
  readonly agentToken?: string | undefined
  /** Seconds that a blocking call waits for a result. */
  readonly waitSeconds: number
  /** For tests. */
  readonly pushRules?: PushRules
}

const PARALLEL = 32
const RETRY_MS = 5_000

/**
 * Runs `svc a2a` until the signal aborts.
 * @throws StartError if the configuration is wrong, ApiError if the service refuses the key.
 */
export async function serveA2a(options: ServeOptions, io: { stderr: Writable; signal: AbortSignal }): Promise<void> {
  const { url, authority, keyPath, port, agentToken, waitSeconds } = options
  const agentUrl = options.agentUrl === undefined ? undefined : URL.parse(options.agentUrl)
  if (agentUrl === null || (agentUrl && !/^https?:$/.test(agentUrl.protocol)))
    throw new StartError(`--agent ${options.agentUrl} is not an http or https URL, such as http://127.0.0.1:4000/`)
  const tokenFile = options.tokenPath ?? `${keyPath}.token`
  const token = readOrMakeToken(tokenFile)
  const log = createLog(io.stderr)
  const key = readKeyFile(keyPath)
  const root = options.statePath ?? `${keyPath}.a2a`
  const folder = join(root, folderOf(url, key))
  for (const one of [root, folder]) makeOwnFolder(one)

  await using stack = new AsyncDisposableStack()
  const store = stack.use(createFileStore(folder))
  // Whatever ends this call also ends what runs beside it.
  const stop = new AbortController()
  stack.defer(() => stop.abort())
  const signal = AbortSignal.any([io.signal, stop.signal])
  const shelf = <T extends { readonly atMs: number }>(name: string): Promise<Shelf<T>> =>
    Shelf.open<T>(store, `${name}/`, KEPT_MS)

  const client = new AgentClient({ url, key, store, ...(authority === undefined ? {} : { authority }) })
  const book = new TaskBook(await shelf<TaskRecord>('tasks'))
  const pushes = new Pushes(book, { log, signal, rules: options.pushRules ?? {} })
  const onRefused = async ({ to, turn, type, replyTo, threadId }: Outgoing, error: unknown): Promise<void> => {
    const { message } = error as Error
    const code = error instanceof ApiError ? error.code : ''
    if (turn !== undefined) return book.refuse(turn, { code, message })
    if (type !== 'response' || replyTo === undefined) return
    // The result itself cannot be sent. At least the other side learns that there is none.
    const reason = `the result could not be sent: ${message}`
    const [body = null] = encodeWire({ kind: 'refused', turn: replyTo, reason })
    await outbox.add([{ to, type: 'error', body, replyTo, threadId, isPatient: true }])
  }
  const outbox: Outbox = new Outbox({ client, shelf: await shelf<Kept>('outbox'), log, signal, onRefused })
  const send = async (to: string, wire: Wire): Promise<void> => {
    await outbox.add(encodeWire(wire).map((body) => ({ to, type: 'event' as const, body, isPatient: false })))
  }
  const agent = agentUrl && new LocalAgent(agentUrl, agentToken)
  const cards = new Cards({ client, key, store, agent, log, signal, send })
  const turns = new Turns(await shelf<InboundTurn>('turns'))
  const inbound = agent && new Inbound({ agent, turns, reports: new Reports(turns, outbox), log, signal })
  const groups: Groups = await shelf('pieces')
  const contacts = new Contacts(client, (agentId) => book.list(agentId).length > 0, signal)

  const handlers = new Map<string, ContactHandler>()
  const find = async (wanted: string): Promise<ContactHandler | undefined> => {
    const contact = await contacts.find(wanted)
    if (contact === undefined) return undefined
    const card = async () => localCard(await cards.of(contact), contact.name, `${face.url}/${contact.name}`)
    const idOf = (text: string): string => derivedId(key.secretKey, 'a2a', text)
    const made = { contact, book, outbox, pushes, idOf, waitMs: waitSeconds * 1_000, card }
    const handler = handlers.get(contact.agentId) ?? new ContactHandler(made)
    handlers.set(contact.agentId, handler)
    return handler
  }

  async function act(from: Contact, wire: Wire): Promise<void> {
    switch (wire.kind) {
      case 'send':
        if (inbound === undefined)
          return send(from.name, {
            kind: 'refused',
            turn: wire.turn,
            reason: `${await client.address({ signal })} has no agent: its svc a2a runs without --agent`,
          })
        await inbound.take(from, wire)
        // Beside it, because the agent may be slow.
        void cards.give(from)
        return
      case 'state':
        return book.apply(from.agentId, wire)
      case 'refused':
        return book.fail(from.agentId, wire.turn, wire.reason)
      case 'cancel':
        return inbound?.cancel(from.agentId, wire.task)
      case 'card':
        return cards.take(from, wire.card)
    }
  }

  const face = stack.use(await serveOverHttp({ port, token, find }))
  log('listening', { url: face.url, tokenFile })
  const found = agent?.connect(signal).then((one) => one.getAgentCard())
  void found?.then(
    ({ name }) => log('agent.found', { name }),
    (error: unknown) => log('agent.awaited', { reason: reasonOf(error) }),
  )
  outbox.resume()
  for (const { task, turn, outgoing } of book.unposted) {
    await outbox.add(outgoing)
    await book.posted(task, turn)
  }
  inbound?.resume()
  stack.defer(() => {
    stop.abort()
    return inbound?.idle()
  })

  while (!io.signal.aborted) {
    try {
      await client.process({
        // Other messages are left for other programs of this agent.
        async open(message) {
          const opened = await client.openMessage(message, { signal })
          const isOwn = opened.verified && opened.sender?.name !== undefined && decodePiece(opened.body) !== undefined
          return isOwn && (await contacts.has(opened.sender.agentId)) ? opened : undefined
        },
        async handle({ sender, body }) {
          const piece = decodePiece(body)
          if (piece === undefined || sender?.name === undefined) return
          const from = { agentId: sender.agentId, name: sender.name }
          await takePiece(groups, from.agentId, piece, (wire) => act(from, wire))
        },
        types: ['request', 'event', 'response', 'error'],
        parallel: PARALLEL,
        signal,
        onWait: ({ id, delayMs }) => log('message.waits', { id, seconds: Math.round(delayMs / 1_000) }),
        onDeadLetter: ({ id, reason }) => log('message.given-up', { id, reason }),
      })
    } catch (error) {
      if (!isPassing(error)) throw error
      log('service.awaited', { reason: (error as Error).message })
      await sleep(RETRY_MS, io.signal).catch(() => undefined)
    }
  }
}
