import { signal } from '@preact/signals'
import type { Event, Message } from '@svc/contracts/resources.ts'
import { NetworkError } from '@svc/sdk/errors.ts'
import { beforeEach, describe, expect, test } from 'vitest'
import type { AgentContext } from '../agent/context.ts'
import type { People } from '../agent/people.ts'
import { Archive } from './archive.ts'
import { History } from './history.ts'
import { isUnread, Unread } from './unread.ts'

const ME = 'me@here'
const FOR_EVER = 1e10
const people = { isOwn: (from: string) => from === ME } as unknown as People

function messageOf(id: string, from = 'bob@here', to = ME): Message {
  const envelope = { id, from, to, type: 'event' } as Message['envelope']
  return { envelope, lane: 'inbox', created_at: 1, expires_at: FOR_EVER, acked: false, upvotes: 0 }
}

/** A service that has a log of received messages and a list of sent ones. */
class FakeService {
  readonly events: Event[] = []
  readonly sent: Message[] = []
  /** Cursors after which pages were asked for. */
  asked: number[] = []
  exported = 0
  isDown = false

  arrive(id: string, kind: Event['kind'] = 'inbox'): void {
    const to = kind === 'board' ? 'board:b' : ME
    this.events.push({
      cursor: this.events.length + 1,
      kind,
      message: { ...messageOf(id, 'bob@here', to), lane: kind },
    })
  }

  readonly client = {
    events: ({ after, pageSize }: { after: number; pageSize: number }) => {
      const page = async (from: number) => {
        if (this.isDown) throw new NetworkError('no network')
        const items = this.events.filter(({ cursor }) => cursor > from).slice(0, pageSize)
        return { items, next: items.at(-1)?.cursor ?? from, latest: this.events.length, earliest: 1 }
      }
      const asked = this.asked
      return {
        page: () => page(after),
        async *pages() {
          asked.push(after)
          yield await page(after)
        },
      }
    },
    export: ({ after }: { after: string | undefined }) => {
      const all = this.sent.slice(Number(after ?? 0))
      this.exported += 1
      return {
        async *pages() {
          yield { items: all.slice(0, 2), next: all.length > 2 ? String(Number(after ?? 0) + 2) : '' }
        },
      }
    },
  }
}

type Records = Map<string, unknown>
let service: FakeService
let kept: { history: Records; read: Records }

beforeEach(() => {
  service = new FakeService()
  kept = { history: new Map(), read: new Map() }
})

const recordsOf = (map: Records) => ({
  get: async (id: string) => map.get(id),
  put: async (id: string, value: unknown) => {
    map.set(id, structuredClone(value))
  },
  delete: async (id: string) => {
    map.delete(id)
  },
  list: async () => [...map].map(([id, value]) => ({ id, value: structuredClone(value) })),
})

/** A session of the page: what is kept outlives it. */
async function open(readAll = true): Promise<{ archive: Archive; history: History; unread: Unread; latest: number }> {
  service.asked = []
  const context = {
    client: service.client,
    store: { history: recordsOf(kept.history), read: recordsOf(kept.read) },
    name: signal('me'),
    ended: new AbortController().signal,
  } as unknown as AgentContext
  const archive = new Archive(context)
  const unread = new Unread(context)
  const history = new History(context, { archive, people, unread, health: { unlessFailing: (task) => task } })
  const latest = await history.open()
  await unread.load(latest)
  await history.readNewest()
  if (readAll) await history.readAll()
  return { archive, history, unread, latest }
}

const idsOf = ({ entries }: Archive): string[] => entries.value.map(({ message }) => message.envelope.id).sort()

describe('a history of 250 events', () => {
  beforeEach(() => {
    for (let index = 1; index <= 250; index += 1) service.arrive(`m${index}`)
  })

  test('is read newest first, and enough for a list before the rest', async () => {
    const { archive } = await open(false)
    expect(service.asked).toEqual([200, 100])
    expect(idsOf(archive)).toHaveLength(150)
  })

  test('the count of what is unread is exact only when all of it was read', async () => {
    await open()
    kept.read.set('mail', { cursor: 20, beyond: [] })
    kept.history.clear()
    const { history } = await open(false)
    expect(history.knowsUnread).toBe(false)
    await history.readAll()
    expect(history.knowsUnread).toBe(true)
  })

  test('whole windows are not read again in the next session', async () => {
    expect(idsOf((await open()).archive)).toHaveLength(250)
    const { archive } = await open()
    expect(service.asked).toEqual([200])
    expect(idsOf(archive)).toHaveLength(250)
  })

  test('without a network the kept part is shown, and followed from its end', async () => {
    await open()
    service.isDown = true
    const { archive, latest } = await open(false)
    expect([idsOf(archive).length, latest]).toEqual([250, 250])
  })

  test('without a network and without a kept part it fails', async () => {
    service.isDown = true
    await expect(open(false)).rejects.toThrow('no network')
  })

  test('a service that was restored from a backup makes what is kept worthless', async () => {
    await open()
    service.events.splice(120)
    const { archive } = await open()
    expect(idsOf(archive)).toHaveLength(120)
  })

  test('a window that was filled by live events is kept too', async () => {
    const { archive, history } = await open()
    for (let index = 251; index <= 310; index += 1) {
      service.arrive(`m${index}`)
      archive.add(service.events.slice(-1), () => false)
      history.reach(index)
    }
    await open()
    expect(service.asked).toEqual([300])
  })
})

test('a history that is longer than the page shows is cut, and says so', async () => {
  for (let index = 1; index <= 20_150; index += 1) service.arrive(`m${index}`)
  const { history, archive } = await open()
  expect(history.progress.value).toMatchObject({ isComplete: true, isCut: true })
  expect(archive.entries.value.length).toBeLessThan(20_150)
})

test('an expired message is not shown again', async () => {
  for (let index = 1; index <= 100; index += 1) service.arrive(`m${index}`)
  await open()
  const window = kept.history.get('events/0') as { entries: { message: { expires_at: number } }[] }
  for (const { message } of window.entries) message.expires_at = 1
  expect(idsOf((await open()).archive)).toEqual([])
})

test('sent messages come from the export, which goes on where it ended', async () => {
  for (const id of ['a', 'b', 'c']) service.sent.push(messageOf(id, ME, 'bob@here'))
  service.sent.push(messageOf('post', ME, 'board:b'))
  expect(idsOf((await open()).archive)).toEqual(['a', 'b'])
  expect(idsOf((await open()).archive)).toEqual(['a', 'b', 'c'])
})

test('what cannot be read does not stay unread: cursors of others, and posts of one’s own', async () => {
  for (let index = 1; index <= 5; index += 1) service.arrive(`m${index}`)
  const { archive, history, unread } = await open()
  expect(unread.place.value.upTo).toBe(5)
  const own = { ...messageOf('mine', ME, 'board:b'), lane: 'board' as const }
  archive.add(
    [
      { cursor: 7, kind: 'board', message: own },
      { cursor: 8, kind: 'board', message: { ...own, envelope: { ...own.envelope, from: 'bob@here' } } },
    ],
    (from) => from === ME,
  )
  history.reach(8)
  expect([unread.place.value.upTo, isUnread(unread.place.value, 8)]).toEqual([7, true])
  expect(archive.posts.value).toEqual(new Map([['b', [8]]]))
})
