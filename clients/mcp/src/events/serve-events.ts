import { type JsonSchemaType, type McpServer, ProtocolError } from '@modelcontextprotocol/server'
import { type Static, Type } from '@sinclair/typebox'
import type { Mailbox } from '../mailbox.ts'
import { explainError } from '../output/explain-error.ts'
import { checkOf } from '../tools/json-schema.ts'
import { decodeCursor, encodeCursor } from './cursors.ts'
import { eventError } from './event-errors.ts'
import { describeEvent, MESSAGE_RECEIVED } from './event-type.ts'
import { createFilter, readWanted } from './filter.ts'
import { readBatch } from './occurrences.ts'
import { streamEvents } from './stream.ts'
import type { Subscriptions } from './subscriptions/subscribe.ts'

const orNull = <T extends ReturnType<typeof Type.String> | ReturnType<typeof Type.Integer>>(schema: T) =>
  Type.Optional(Type.Union([schema, Type.Null()]))

const Params = Type.Object({
  name: Type.String({ maxLength: 200 }),
  arguments: Type.Optional(Type.Union([Type.Record(Type.String(), Type.Unknown()), Type.Null()])),
  cursor: orNull(Type.String({ maxLength: 2_000 })),
  maxAgeMs: orNull(Type.Integer({ minimum: 0 })),
  maxEvents: orNull(Type.Integer({ minimum: 1 })),
})
type Params = Static<typeof Params>

const Delivery = Type.Object({
  mode: Type.Optional(Type.String({ maxLength: 40 })),
  url: Type.String({ maxLength: 4_000 }),
  secret: Type.Optional(Type.String({ maxLength: 200 })),
})
const Subscribe = Type.Composite([
  Params,
  Type.Object({ delivery: Delivery, ttlMs: orNull(Type.Integer({ minimum: 0 })) }),
])
type Subscribe = Static<typeof Subscribe>

const SUBSCRIBE = checkOf<Subscribe>(JSON.parse(JSON.stringify(Subscribe)) as JsonSchemaType)
const PARAMS = checkOf<Params>(JSON.parse(JSON.stringify(Params)) as JsonSchemaType)
const ANY = checkOf<object>({ type: 'object' })

const DEFAULT_EVENTS = 20
const MAX_EVENTS = 50
/** The watch of this process is cheap, but each poll is a request to the service. */
const NEXT_POLL_MS = 5_000

/**
 * Serves the extension `io.modelcontextprotocol/events`, which is for protocol versions from 2026-07-28 on.
 * @param subscriptions those of the client's token. Undefined if this client cannot have any: over stdio, and with `--read-only`.
 */
export function serveEvents(face: McpServer, mailbox: Mailbox, subscriptions: Subscriptions | undefined): void {
  const { server } = face
  const { aliases, client, policy } = mailbox
  const delivery = ['poll', 'push', ...(subscriptions === undefined ? [] : ['webhook'])]

  server.setRequestHandler('events/list', { params: ANY }, () => ({
    events: [describeEvent({ delivery, withText: policy.eventText })],
  }))

  server.setRequestHandler('events/poll', { params: PARAMS }, (params, { mcpReq: { signal } }) =>
    answered(mailbox, signal, async () => {
      const { filter, since } = await readRequest(mailbox, params, signal)
      const { cursor, maxEvents } = params
      if (cursor === undefined || cursor === null) {
        const now = encodeCursor(aliases, await client.latestCursor({ signal }))
        return { events: [], cursor: now, truncated: false, hasMore: false, nextPollMs: NEXT_POLL_MS }
      }
      const after = decodeCursor(aliases, cursor)
      const limit = Math.min(maxEvents ?? DEFAULT_EVENTS, MAX_EVENTS)
      const batch = await readBatch(mailbox, filter, { after, limit, since }, signal)
      return {
        events: batch.occurrences.map(({ event }) => event),
        cursor: encodeCursor(aliases, batch.cursor),
        truncated: batch.truncated,
        hasMore: batch.more,
        nextPollMs: NEXT_POLL_MS,
      }
    }),
  )

  server.setRequestHandler('events/stream', { params: PARAMS }, (params, context) => {
    const { signal } = context.mcpReq
    return answered(mailbox, signal, async () => {
      const { filter, since } = await readRequest(mailbox, params, signal)
      const { cursor } = params
      const isNew = cursor === undefined || cursor === null
      const after = isNew ? await client.latestCursor({ signal }) : decodeCursor(aliases, cursor)
      return streamEvents(mailbox, { after, filter, since: isNew ? undefined : since }, context)
    })
  })

  serveWebhooks(face, mailbox, subscriptions)
}

function serveWebhooks({ server }: McpServer, mailbox: Mailbox, subscriptions: Subscriptions | undefined): void {
  server.setRequestHandler('events/subscribe', { params: SUBSCRIBE }, (params, { mcpReq: { signal } }) =>
    answered(mailbox, signal, async () => {
      const known = withPrincipal(subscriptions)
      const { wanted, since } = await readRequest(mailbox, params, signal)
      const { delivery, cursor, ttlMs } = params
      if (delivery.mode !== 'webhook') {
        const data = { feature: 'deliveryMode', value: delivery.mode ?? null }
        throw eventError('Unsupported', 'delivery.mode must be webhook', data)
      }
      const { url, secret = '' } = delivery
      const isNew = cursor === undefined || cursor === null
      const place = { cursor: isNew ? undefined : cursor, since: isNew ? undefined : since }
      return known.subscribe({ wanted, url, secret, ttlMs, ...place }, signal)
    }),
  )

  server.setRequestHandler('events/unsubscribe', { params: SUBSCRIBE }, (params, { mcpReq: { signal } }) =>
    answered(mailbox, signal, async () => {
      const known = withPrincipal(subscriptions)
      const { wanted } = await readRequest(mailbox, params, signal)
      known.unsubscribe(params.delivery.url, wanted)
      return {}
    }),
  )
}

/** @throws ProtocolError Forbidden. */
function withPrincipal(subscriptions: Subscriptions | undefined): Subscriptions {
  if (subscriptions !== undefined) return subscriptions
  throw eventError('Forbidden', 'webhooks need svc mcp --http without --read-only. Use events/stream here')
}

async function readRequest(mailbox: Mailbox, { name, arguments: given, maxAgeMs }: Params, signal: AbortSignal) {
  if (name !== MESSAGE_RECEIVED) throw eventError('NotFound', 'no event has this name', { kind: 'event' })
  const wanted = await readWanted(mailbox, given)
  const since = typeof maxAgeMs === 'number' ? Math.ceil((Date.now() - maxAgeMs) / 1000) : undefined
  return { wanted, filter: await createFilter(mailbox, wanted, signal), since }
}

/** @throws ProtocolError with a message in this server's words. */
async function answered<T>(mailbox: Mailbox, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    await mailbox.ready(signal)
    return await work()
  } catch (error) {
    if (error instanceof ProtocolError) throw error
    const { code, text } = explainError(error)
    mailbox.log('events', { outcome: code })
    throw eventError('Internal', `${code}: ${text}`)
  }
}
