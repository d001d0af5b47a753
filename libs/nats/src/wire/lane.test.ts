import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createLane } from './lane.ts'

test('one item begins in each turn of the event loop, in order, and other work runs between them', async () => {
  const lane = createLane({ concurrency: 10, maxWaiting: 10 })
  const begun: number[] = []
  const all = [1, 2, 3, 4].map((item) => lane.run(async () => begun.push(item)))
  expect(begun).toEqual([])
  for (let turn = 1; turn <= all.length; turn += 1) {
    await nextTurn()
    expect(begun).toEqual([1, 2, 3, 4].slice(0, turn))
  }
  expect(await Promise.all(all)).toEqual([1, 2, 3, 4])
})

test('concurrency is limited, a failed item makes room like any other, and the lane is full when its queue is', async () => {
  const lane = createLane({ concurrency: 2, maxWaiting: 3 })
  const gates = Array.from({ length: 5 }, () => Promise.withResolvers<void>())
  const begun: number[] = []
  const all = gates.map(({ promise }, item) =>
    lane.run(() => {
      begun.push(item)
      return promise
    }),
  )
  const outcomes = Promise.allSettled(all)
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  expect([begun, lane.isFull]).toEqual([[0, 1], true])
  gates[1]?.reject(new Error('failed'))
  for (let turn = 0; turn < 5; turn += 1) await nextTurn()
  expect([begun, lane.isFull]).toEqual([[0, 1, 2], false])
  for (const { resolve } of gates) resolve()
  expect((await outcomes).map(({ status }) => status)).toEqual([
    'fulfilled',
    'rejected',
    'fulfilled',
    'fulfilled',
    'fulfilled',
  ])
})
