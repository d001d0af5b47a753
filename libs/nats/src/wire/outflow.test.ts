import { expect, test } from 'vitest'
import { createOutflow, MAX_UNCONFIRMED_CHARACTERS } from './outflow.ts'

function start() {
  const asked: PromiseWithResolvers<void>[] = []
  const outflow = createOutflow(() => {
    const answer = Promise.withResolvers<void>()
    asked.push(answer)
    return answer.promise
  })
  return { outflow, asked }
}

test('data on a silent link is bounded, and freed when the server has it or the link is lost', async () => {
  const { outflow, asked } = start()
  outflow.add(MAX_UNCONFIRMED_CHARACTERS - 1)
  expect(outflow.isFull).toBe(false)
  outflow.add(1)
  expect(outflow.isFull).toBe(true)
  asked[0]?.resolve()
  await new Promise(setImmediate)
  // The flush does not confirm data that was handed over after it began.
  expect(outflow.isFull).toBe(false)
  outflow.add(MAX_UNCONFIRMED_CHARACTERS - 1)
  expect(outflow.isFull).toBe(true)
  asked[1]?.reject(new Error('disconnected'))
  await new Promise(setImmediate)
  outflow.add(1)
  expect(outflow.isFull).toBe(false)
})

test('small amounts need no flush, and only one flush is under way at a time', () => {
  const { outflow, asked } = start()
  for (let at = 0; at < 100; at += 1) outflow.add(10_000)
  expect(asked.length).toBe(0)
  for (let at = 0; at < 1_000; at += 1) outflow.add(10_000)
  expect(asked.length).toBe(1)
})
