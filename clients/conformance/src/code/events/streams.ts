/** Streams and events: what case files cannot say. */
import type { Case } from '../../cases/case.ts'
import { check, got } from '../../cases/check.ts'
import { countOutcomes } from '../../cases/steps.ts'
import { type EventStream, openStream } from '../../http/event-stream.ts'

const SENDERS = 4
const EACH = 15
const AT_ONCE = 20
/** The longest that a server may take to notice that a client is gone. */
const PATIENCE_MS = 60_000

export const STREAMS: readonly Case[] = [
  {
    id: 'events/streams/order',
    title: 'Events under concurrent requests: they become visible in the order of their cursors, in history and stream',
    spec: ['9.3', '9.7'],
    needs: [],
    agents: SENDERS + 1,
    async run(world) {
      const [ben, ...senders] = await Promise.all(Array.from({ length: SENDERS + 1 }, () => world.agent()))
      if (ben === undefined) return
      await got(ben.patch('/v2/me', { inbox_policy: 'open' }))
      const { stream } = await openStream(ben, '/v2/stream', { gateway: 2, observe: world.observe })
      if (stream === undefined) throw new Error('GET /v2/stream opened no stream')
      world.atEnd(() => stream[Symbol.dispose]())
      let areSent = false
      const sending = Promise.all(
        senders.map(async (sender) => {
          for (let sent = 0; sent < EACH; sent += 1) await got(sender.send(ben))
        }),
      ).finally(() => {
        areSent = true
      })
      // What was read stays what it is, and what is new follows it without a gap.
      let seen: string[] = []
      for (let round = 0, isLast = false; !isLast; round += 1) {
        isLast = areSent
        const page = await got(ben.get('/v2/events?limit=100', { gateway: round + 1 }))
        const read: string[] = page.events.map(
          ({ cursor, message }: EventStream['events'][number]) => `${cursor} ${message.envelope.id}`,
        )
        check(read.slice(0, seen.length), seen, 'the events that were read before')
        check(
          read.map((one) => Number(one.split(' ')[0])),
          read.map((_, at) => at + 1),
          'the cursors',
        )
        seen = read
      }
      await sending
      check(seen.length, SENDERS * EACH, 'the number of events')
      await stream.until('message', SENDERS * EACH)
      check(
        stream.events.map(({ cursor, message }) => `${cursor} ${message.envelope.id}`),
        seen,
        'the events of the stream',
      )
    },
  },
  {
    id: 'events/streams/two-streams',
    title: `Limits and ends of streams: streams of one agent: of ${AT_ONCE} at once, over all gateways, two open`,
    spec: ['9.8', '11.7'],
    needs: [],
    agents: 1,
    async run(world) {
      const ben = await world.agent()
      const asked = await Promise.all(
        Array.from({ length: AT_ONCE }, (_, at) => openStream(ben, '/v2/stream', { gateway: at + 1 })),
      )
      for (const { stream } of asked) if (stream !== undefined) world.atEnd(() => stream[Symbol.dispose]())
      const outcomes = countOutcomes(asked.map(({ answer }) => answer))
      check(outcomes, { 200: 2, '429 stream_limit': AT_ONCE - 2 }, 'the outcomes')
    },
  },
  {
    id: 'events/streams/silent-clients',
    title: 'Limits and ends of streams: clients that read nothing keep their places no longer than a stream lasts',
    spec: ['9.8'],
    needs: ['short streams'],
    agents: 1,
    async run(world) {
      const ben = await world.agent()
      const onStream = (response: { pause(): void; destroy(): void; on(event: 'error', take: () => void): void }) => {
        response.on('error', () => {})
        response.pause()
        world.atEnd(() => response.destroy())
      }
      for (let count = 0; count < 2; count += 1) await ben.get('/v2/stream', { onStream })
      for (const endMs = Date.now() + PATIENCE_MS; ; ) {
        const { status } = await ben.get('/v2/stream')
        if (status === 200) return
        if (Date.now() > endMs)
          throw new Error(`after ${PATIENCE_MS / 1_000} s, two silent clients still keep their places`)
        await new Promise((resolve) => setTimeout(resolve, 500))
      }
    },
  },
  {
    id: 'events/streams/stored-form',
    title: 'The stream: an envelope comes with its stored text, from history and live',
    spec: ['6.6', '9.7'],
    needs: [],
    agents: 1,
    async run(world) {
      const ben = await world.agent()
      const open = async (): Promise<EventStream> => {
        const { answer, stream } = await openStream(ben, '/v2/stream', { observe: world.observe })
        if (stream === undefined) throw new Error(`GET /v2/stream opened no stream: ${answer.status}`)
        world.atEnd(() => stream[Symbol.dispose]())
        await stream.until('cursor')
        return stream
      }
      const live = await open()
      // A number in another spelling than the stored form, characters that could break lines, and U+0000.
      const envelope = ben.envelope(ben, { big: 1, text: 'a\nb\r\n\u2028 \u0000 : data: x', '': [] })
      const stored = JSON.stringify(envelope)
      await got(ben.post('/v2/messages', stored.replace('"big":1,', '"big":1.0,')))
      await live.until('message')
      for (const { text } of [live, await open()])
        check(text.includes(stored), true, 'whether the text is the stored form')
    },
  },
]
