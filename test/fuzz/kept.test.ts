/** Findings of fuzzing, each in its original form. */
import { beforeAll, expect, test } from 'vitest'
import { expectError } from '../support/client/expect-answer.ts'
import { openRaw, parseAnswers } from '../support/client/raw-http.ts'
import { type SharedHarness, shareHarness } from '../support/system/harness.ts'

let h: SharedHarness
beforeAll(async () => {
  h = await shareHarness('usual')
  return () => h[Symbol.asyncDispose]()
})

test('spec 3.11: a target that is not text is refused like any malformed request, with the same headers', async () => {
  using connection = openRaw(h.place.url)
  connection.write(`POST /v2/messages?af\xf12\xe3=1 HTTP/1.1\r\nHost: x\r\n\r\n`)
  const [answer] = parseAnswers(await connection.ended)
  if (answer === undefined) throw new Error('there is no answer')
  expectError(answer, 400, 'invalid_request')
  expect(answer.headers.get('cache-control')).toBe('no-store')
})
