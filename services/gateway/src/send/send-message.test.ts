import { release, reserve } from '@svc/contracts/budget.ts'
import type { CallContext } from '@svc/contracts/define.ts'
import { ServiceError } from '@svc/contracts/errors.ts'
import { sendMessage } from '@svc/contracts/messaging.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { describe, expect, test } from 'vitest'
import type { SizedEnvelope } from './envelope-body.ts'
import { createSendMessage } from './send-message.ts'

const ALICE = 'A'.repeat(44)
const BOB = 'B'.repeat(44)
const REFUSAL = new ServiceError('unavailable')
const FAULT = new TypeError('undefined is not a function')
const NOT_ADMITTED = new ServiceError('nonce_replayed')

const context: CallContext = { traceparent: '', deadlineMs: Date.now() + 60_000 }
const body: SizedEnvelope = {
  facts: {
    id: 'message-1',
    from: { kind: 'id', id: ALICE },
    to: { kind: 'agent', name: 'bob', authority: 'localhost' },
    tsMs: Date.now(),
    ttl: 0,
    replyTo: undefined,
    threadId: undefined,
    payloadBytes: 1,
    payloadCharacters: 1,
  } as SizedEnvelope['facts'],
  digest: 'ab'.repeat(32),
  text: '{}',
}
const ANSWERS: Record<string, unknown> = {
  [reserve.subject]: { deadline_ms: 1_767_268_800_000, settled: false, shared: false },
  [release.subject]: {},
  [sendMessage.subject]: { msg_id: 'message-1', status: 'accepted', lane: 'inbox', duplicate: false },
}

/** Alice has written to bob before. @param failures by subject: the errors that services answer from then on. */
async function startSender(failures: Record<string, Error>) {
  let failing: Record<string, Error> = {}
  const asked: string[] = []
  const bus = {
    call: async ({ subject }: { subject: string }) => {
      asked.push(subject)
      if (failing[subject] !== undefined) throw failing[subject]
      return ANSWERS[subject]
    },
  } as unknown as Bus
  const send = createSendMessage({
    bus,
    participants: { checkSender: async () => {}, resolve: async () => ({ kind: 'agent', id: BOB }) },
  })
  const sendWith = (admitted: Promise<void>) => send({ signer: ALICE, body, context, admitted })
  await sendWith(Promise.resolve())
  failing = failures
  asked.length = 0
  return { asked, sendWith }
}

describe('ADR 6, 7: a cost that is reserved ahead of admission', () => {
  test('a refusal by budget is dropped: messaging charges the message', async () => {
    const { asked, sendWith } = await startSender({ [reserve.subject]: REFUSAL })
    expect((await sendWith(Promise.resolve())).status).toBe(202)
    expect(asked).toEqual([reserve.subject, sendMessage.subject])
  })

  test.each([
    ['is given back', {}, NOT_ADMITTED],
    ['is left to expire if budget refuses to release it', { [release.subject]: REFUSAL }, NOT_ADMITTED],
    ['shows a fault of this process', { [release.subject]: FAULT }, FAULT],
  ])('if the request is not admitted, it %s', async (_, failures, expected) => {
    const { asked, sendWith } = await startSender(failures)
    await expect(sendWith(refused())).rejects.toBe(expected)
    expect(asked).toEqual([reserve.subject, release.subject])
  })

  test.each([
    ['admitted', () => Promise.resolve()],
    ['not admitted', refused],
  ])('a fault of this process while reserving is thrown if the request is %s', async (_, admission) => {
    const { sendWith } = await startSender({ [reserve.subject]: FAULT })
    await expect(sendWith(admission())).rejects.toBe(FAULT)
  })
})

/** Marks the rejection as handled; the code under test awaits it later. */
function refused(): Promise<void> {
  const admitted = Promise.reject(NOT_ADMITTED)
  admitted.catch(() => {})
  return admitted
}
