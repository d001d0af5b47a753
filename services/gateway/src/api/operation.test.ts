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
  clientAddress: () => '192.0.2.1',
}

const declared = defineOperation({
  id: 'x',
  method: 'POST',
  path: '/v2/x',
  tag: 'Service',
  summary: 'x',
  auth: 'required',
  responses: {},
})

describe('spec 3.5: work and admission', () => {
  test('handle: the work begins when the request is admitted', async () => {
    const work = vi.fn(async () => jsonAnswer(200, {}))
    const admitted = Promise.withResolvers<void>()
    const answered = declared.handle(work).prepare(INPUT)('signer', CONTEXT, admitted.promise)
    await new Promise((resolve) => setImmediate(resolve))
    expect(work).not.toHaveBeenCalled()
    admitted.resolve()
    expect((await answered).status).toBe(200)
  })

  test('handle: the work of a refused request never begins', async () => {
    const work = vi.fn(async () => jsonAnswer(200, {}))
    const refusal = new ServiceError('nonce_replayed')
    await expect(declared.handle(work).prepare(INPUT)('signer', CONTEXT, Promise.reject(refusal))).rejects.toBe(refusal)
    expect(work).not.toHaveBeenCalled()
  })

  test('handleEarly: the work begins at once, and awaits the admission itself', async () => {
    const admitted = Promise.withResolvers<void>()
    const began = Promise.withResolvers<void>()
    const operation = declared.handleEarly(async (request) => {
      began.resolve()
      await request.admitted
      return jsonAnswer(200, { signer: request.signer })
    })
    const answered = operation.prepare(INPUT)('signer', CONTEXT, admitted.promise)
    await began.promise
    admitted.resolve()
    expect(await answered).toEqual(jsonAnswer(200, { signer: 'signer' }))
  })
})
