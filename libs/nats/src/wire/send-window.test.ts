import { expect, test } from 'vitest'
import { MAX_UNCONFIRMED_CHARACTERS, SendWindow } from './send-window.ts'

function start() {
  const asked: PromiseWithResolvers<void>[] = []
  const window = new SendWindow(() => {
    const answer = Promise.withResolvers<void>()
    asked.push(answer)
    return answer.promise
  })
  return { window, asked }
}

test('data on a silent link is bounded, and freed when the server has it or the link is lost', async () => {
  const { window, asked } = start()
  window.countSent(MAX_UNCONFIRMED_CHARACTERS - 1)
  expect(window.isFull).toBe(false)
  window.countSent(1)
  expect(window.isFull).toBe(true)
  asked[0]?.resolve()
  await new Promise(setImmediate)
  // The flush does not confirm data that was handed over after it began.
  expect(window.isFull).toBe(false)
  window.countSent(MAX_UNCONFIRMED_CHARACTERS - 1)
  expect(window.isFull).toBe(true)
  asked[1]?.reject(new Error('disconnected'))
  await new Promise(setImmediate)
  window.countSent(1)
  expect(window.isFull).toBe(false)
})

test('small amounts need no flush, and only one flush is under way at a time', () => {
  const { window, asked } = start()
  for (let at = 0; at < 100; at += 1) window.countSent(10_000)
  expect(asked.length).toBe(0)
  for (let at = 0; at < 1_000; at += 1) window.countSent(10_000)
  expect(asked.length).toBe(1)
})
