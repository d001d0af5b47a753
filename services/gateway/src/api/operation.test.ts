import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { describe, expect, test, vi } from 'vitest'
import { jsonAnswer } from '../http/answer.ts'
import { defineOperation, type RawInput } from './operation.ts'

const CONTEXT: CallContext = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01', deadlineMs: 0 }
const INPUT: RawInput = {
  params: {},
  target: '/v2/x',
  headers: {},
  body: { bytes: Buffer.alloc(0), contentType: undefined, contentEncoding: undefined },
}
const REFUSAL = new ServiceError('unavailable')
const FAULT = new TypeError('undefined is not a function')
const NOT_ADMITTED = new ServiceError('nonce_replayed')

interface Steps {
  readonly getReady: () => Promise<string>
  readonly undo?: (ready: string) => Promise<void>
}

function workOf({ getReady, undo = async () => {} }: Steps) {
  const { prepare } = defineOperation({
    id: 'x',
    method: 'POST',
    path: '/v2/x',
    tag: 'X',
    summary: 'x',
    auth: 'required',
    responses: {},
    getReady,
    undo,
    handle: async ({ ready }) => jsonAnswer(200, { ready: ready ?? null }),
  })
  return (admitted: Promise<void>) => prepare(INPUT)('signer', CONTEXT, admitted)
}

describe('what getReady throws', () => {
  test('a refusal of the early work is ignored, and the work begins again after the admission', async () => {
    const work = workOf({ getReady: () => Promise.reject(REFUSAL) })
    expect((await work(Promise.resolve())).text).toBe('{"ready":null}')
  })

  test('an internal error is thrown, even if it happens long before the admission', async () => {
    const admitted = Promise.withResolvers<void>()
    const answered = workOf({ getReady: () => Promise.reject(FAULT) })(admitted.promise)
    await new Promise((resolve) => setImmediate(resolve)) // an unhandled rejection would fail the test here
    admitted.resolve()
    await expect(answered).rejects.toBe(FAULT)
  })

  test.each([
    ['a refusal is dropped: the request is refused for what it was not admitted for', REFUSAL, NOT_ADMITTED],
    ['a fault of this process is thrown', FAULT, FAULT],
  ])('if the request is not admitted, %s', async (_, thrown, expected) => {
    const undo = vi.fn(async () => {})
    await expect(workOf({ getReady: () => Promise.reject(thrown), undo })(refused())).rejects.toBe(expected)
    expect(undo).not.toHaveBeenCalled()
  })
})

describe('what undo throws', () => {
  test.each([
    ['a refusal is dropped', REFUSAL, NOT_ADMITTED],
    ['a fault of this process is thrown', FAULT, FAULT],
  ])('%s', async (_, thrown, expected) => {
    const work = workOf({ getReady: async () => 'ready', undo: () => Promise.reject(thrown) })
    await expect(work(refused())).rejects.toBe(expected)
  })
})

/** Marks the rejection as handled; the test awaits it later. */
function refused(): Promise<void> {
  const admitted = Promise.reject(NOT_ADMITTED)
  admitted.catch(() => {})
  return admitted
}
