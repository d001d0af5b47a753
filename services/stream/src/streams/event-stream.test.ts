import { Writable } from 'node:stream'
import { ServiceError } from '@svc/contracts/errors.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import fc from 'fast-check'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { AcceptedEvent } from '../domain/accepted-event.ts'
import { EventStream, type EventStreamOptions } from './event-stream.ts'

const OPTIONS: EventStreamOptions = {
  agentId: 'ben',
  after: 0,
  maxSeconds: 60,
  heartbeatSeconds: 60,
  slowSeconds: 60,
  traceparent: '',
}

/** A log in memory, the events received from it, and a reader. */
function startScene(options: Partial<EventStreamOptions> = {}, { characters = 1, highWaterMark = 1 << 20 } = {}) {
  let head = 0
  let hear: (event: AcceptedEvent) => void = () => {}
  const skipped = new Set<number>()
  const state = { isDown: false, reads: [] as number[], isPaused: false, listening: 0 }
  const textOf = (cursor: number): string => `{"cursor":${cursor},"x":"${'x'.repeat(characters)}"}`
  const stream = new EventStream(
    {
      live: {
        async listen(_agentId, heard) {
          hear = heard
          state.listening += 1
          return {
            [Symbol.dispose]() {
              state.listening -= 1
            },
          }
        },
      },
      history: {
        async read({ after, limit }) {
          state.reads.push(limit)
          await Promise.resolve()
          if (state.isDown) throw new ServiceError('unavailable')
          const length = Math.max(Math.min(head - after, limit, 10), 0)
          const cursors = Array.from({ length }, (_, at) => after + 1 + at)
          const events = cursors
            .filter((cursor) => !skipped.has(cursor))
            .map((cursor) => ({ cursor, text: textOf(cursor) }))
          return { events, next: cursors.at(-1) ?? after, earliest: 1, latest: head }
        },
      },
      posts: {
        async find({ id }) {
          if (state.isDown) throw new ServiceError('unavailable')
          return id === 'hidden' ? undefined : `{"post":"${id}"}`
        },
      },
    },
    { ...OPTIONS, ...options },
  )
  let written = ''
  let waiting: (() => void) | undefined
  const out = new Writable({
    highWaterMark,
    decodeStrings: false,
    write(chunk: string, _encoding, callback) {
      written += chunk
      if (state.isPaused) waiting = callback
      else setImmediate(callback)
    },
  })
  const take = (): void => {
    const taken = waiting
    waiting = undefined
    taken?.()
  }
  const over = stream.prepare().then(() => stream.writeTo(out))
  return {
    stream,
    out,
    over,
    state,
    skipped,
    /** Accepts `count` more events. @returns their cursors. */
    accept(count: number): number[] {
      const cursors = Array.from({ length: count }, (_, at) => head + 1 + at)
      head += count
      return cursors
    },
    hear: (cursor: number) => hear({ kind: 'event', heard: { cursor, content: textOf(cursor) } }),
    hearPost: (cursor: number, id: string) =>
      hear({ kind: 'event', heard: { cursor, content: { id, boardId: 'board' } } }),
    hearExpiring: (cursor: number) => hear({ kind: 'expiring', cursor }),
    /** The reader takes what was written, and no more. */
    take,
    resume() {
      state.isPaused = false
      take()
    },
    frames: () => written.split('\n\n').slice(0, -1),
    cursors: () => [...written.matchAll(/event: message\ndata: .*\nid: (\d+)/g)].map(([, cursor]) => Number(cursor)),
    lastFrame: () => written.split('\n\n').at(-2),
    get written() {
      return written
    },
  }
}

type Scene = ReturnType<typeof startScene>

const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1)
const isGreeted = (scene: Scene) => eventually(() => scene.written.includes('event: cursor'))

async function end(scene: Scene): Promise<void> {
  scene.stream.close()
  await scene.over
  expect(scene.state.listening).toBe(0)
}

describe('spec 9.7: history and live events join at the cursor', () => {
  test('property: if events are lost, repeated or out of order, the stream still writes each once and in order', async () => {
    const moves = fc.array(
      fc.record({
        accepted: fc.integer({ min: 0, max: 5 }),
        heard: fc.array(fc.integer({ min: 0, max: 30 }), { maxLength: 8 }),
        pause: fc.boolean(),
      }),
      { maxLength: 12 },
    )
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: 25 }), moves, async (before, steps) => {
        const scene = startScene()
        scene.accept(before)
        let head = before
        for (const { accepted, heard, pause } of steps) {
          head = scene.accept(accepted).at(-1) ?? head
          // Only events that exist can be received.
          for (const cursor of heard) if (cursor >= 1 && cursor <= head) scene.hear(cursor)
          if (pause) await new Promise(setImmediate)
        }
        scene.stream.noteHead(head)
        await eventually(() => scene.cursors().length === head)
        expect(scene.cursors()).toEqual(upTo(head))
        await end(scene)
        expect(scene.lastFrame()).toBe(`event: cursor\ndata: {"cursor":${head}}\nid: ${head}`)
      }),
      { numRuns: 60 },
    )
  })

  test('events that arrive in order are written without a read of history', async () => {
    const scene = startScene()
    await isGreeted(scene)
    const reads = scene.state.reads.length
    for (const cursor of scene.accept(50)) scene.hear(cursor)
    await eventually(() => scene.cursors().length === 50)
    expect(scene.state.reads).toHaveLength(reads)
    await end(scene)
  })

  test('events that never arrived are found by the head of the log, even if nothing else comes', async () => {
    const scene = startScene()
    await isGreeted(scene)
    scene.accept(3)
    scene.stream.noteHead(3)
    await eventually(() => scene.cursors().length === 3)
    await end(scene)
  })

  test('skipped events are not written, and the last cursor is past them', async () => {
    const scene = startScene()
    scene.skipped.add(2).add(3)
    await isGreeted(scene)
    scene.accept(2)
    scene.hear(1)
    scene.hearExpiring(2)
    scene.accept(1)
    scene.hearPost(3, 'hidden')
    await eventually(() => scene.cursors().length === 1)
    await new Promise(setImmediate)
    scene.accept(1)
    scene.hearPost(4, 'shown')
    await eventually(() => scene.cursors().length === 2)
    expect(scene.cursors()).toEqual([1, 4])
    expect(scene.lastFrame()).toBe(
      'event: message\ndata: {"cursor":4,"kind":"board","message":{"post":"shown"}}\nid: 4',
    )
    await end(scene)
  })

  test('messaging down for a while: missed events come when it is back', async () => {
    const scene = startScene()
    await isGreeted(scene)
    scene.state.isDown = true
    scene.accept(2)
    scene.hear(2)
    await eventually(() => scene.state.reads.length > 3)
    expect(scene.cursors()).toEqual([])
    scene.state.isDown = false
    await eventually(() => scene.cursors().length === 2)
    await end(scene)
  })
})

describe('slow readers are bounded in memory and served from history', () => {
  afterEach(() => vi.useRealTimers())

  test('only the waiting events and one page are buffered, and nothing is lost', async () => {
    const CHARACTERS = 20_000
    const COUNT = 400
    const scene = startScene({}, { characters: CHARACTERS, highWaterMark: 16 * 1024 })
    await isGreeted(scene)
    scene.state.isPaused = true
    for (let count = 0; count < COUNT; count += 1) {
      for (const cursor of scene.accept(1)) scene.hear(cursor)
      if (count % 20 === 0) await new Promise(setImmediate)
    }
    // The connection buffers its high-water mark and one more event, far less than the 8 MB that arrived.
    expect(scene.out.writableLength).toBeLessThan(3 * CHARACTERS)
    scene.resume()
    await eventually(() => scene.cursors().length === COUNT)
    expect(scene.cursors()).toEqual(upTo(COUNT))
    await end(scene)
  })

  test.each([
    ['received live', (scene: Scene) => isGreeted(scene)],
    ['read from history', async () => {}],
  ])(
    'spec 9.7: events that were %s and wait for the reader are checked again before they are written',
    async (_, ready) => {
      vi.useFakeTimers({ toFake: ['performance'] })
      const scene = startScene({}, { characters: 20_000, highWaterMark: 16 * 1024 })
      const isLive = ready.length > 0
      await ready(scene)
      scene.state.isPaused = true
      for (const cursor of scene.accept(5)) if (isLive) scene.hear(cursor)
      await eventually(() => scene.out.writableNeedDrain)
      // Meanwhile the second event expires, and the reader leaves the private board of the fourth.
      scene.skipped.add(2).add(4)
      vi.advanceTimersByTime(1_500)
      scene.resume()
      if (!isLive) scene.stream.noteHead(5)
      await eventually(() => scene.cursors().length === 3)
      expect(scene.cursors()).toEqual([1, 3, 5])
      await end(scene)
    },
  )

  test('a reader that takes little at a time is served from short pages of history', async () => {
    vi.useFakeTimers({ toFake: ['performance'] })
    const scene = startScene({}, { characters: 20_000, highWaterMark: 16 * 1024 })
    scene.accept(10)
    scene.state.isPaused = true
    for (let written = 0; written < 9; written += 1) {
      await eventually(() => scene.cursors().length === written && scene.out.writableNeedDrain)
      vi.advanceTimersByTime(1_500)
      scene.take()
    }
    expect(Math.max(...scene.state.reads.slice(1))).toBeLessThanOrEqual(2)
    scene.resume()
    await eventually(() => scene.written.includes('event: cursor'))
    await end(scene)
  })

  test('a reader that takes nothing is cut off after its time', async () => {
    const scene = startScene({ slowSeconds: 0.1 }, { characters: 20_000, highWaterMark: 16 * 1024 })
    await isGreeted(scene)
    scene.state.isPaused = true
    for (const cursor of scene.accept(5)) scene.hear(cursor)
    await scene.over
    expect(scene.out.destroyed).toBe(true)
    expect(scene.state.listening).toBe(0)
  })

  test('a reader that goes away ends its stream', async () => {
    const scene = startScene()
    await isGreeted(scene)
    scene.out.destroy()
    await scene.over
    expect(scene.state.listening).toBe(0)
  })
})

describe('spec 9.7: cursors', () => {
  afterEach(() => vi.useRealTimers())

  test('a stream begins with retry, has a cursor after the history, and ends with a cursor', async () => {
    const scene = startScene()
    scene.accept(2)
    await isGreeted(scene)
    await end(scene)
    expect(scene.frames().map((frame) => frame.split('\n')[0])).toEqual([
      'retry: 1000',
      'event: message',
      'event: message',
      'event: cursor',
      'event: cursor',
    ])
  })

  test('a cursor after each pause; an event restarts the pause', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const scene = startScene({ heartbeatSeconds: 20 })
    await isGreeted(scene)
    for (let count = 0; count < 6; count += 1) {
      for (const cursor of scene.accept(1)) {
        scene.hear(cursor)
        await eventually(() => scene.cursors().at(-1) === cursor)
      }
      await vi.advanceTimersByTimeAsync(6_000)
    }
    expect(scene.written.split('event: cursor')).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(14_000)
    expect(scene.lastFrame()).toBe('event: cursor\ndata: {"cursor":6}\nid: 6')
    await end(scene)
  })

  test('spec 9.8, 9.9: a stream whose time is over ends with a last cursor', async () => {
    const scene = startScene({ maxSeconds: 0.1, after: 7 })
    await scene.over
    expect(scene.lastFrame()).toBe('event: cursor\ndata: {"cursor":7}\nid: 7')
  })
})
