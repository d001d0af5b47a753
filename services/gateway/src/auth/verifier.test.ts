import { Worker } from 'node:worker_threads'
import { createKeyPair } from '@svc/svc1/key-pair.ts'
import { importPublicKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import { signBytes } from '@svc/svc1/sign.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { createVerifier, type VerifierOptions } from './verifier.ts'
import { createRingMemory, RING_SLOTS, RING_TEXT_BYTES, VerifyRing } from './verify-ring.ts'

const HANGING = new URL('../../test/auth/hanging-thread.ts', import.meta.url)
const FAILING = new URL('../../test/auth/failing-thread.ts', import.meta.url)
const LAST_TICKET = 2 ** 30 - 1
const logger = createLogger('gateway', 'silent')
const turn = () => new Promise((resolve) => setImmediate(resolve))

const signers = Array.from({ length: 5 }, (_, i) => {
  const pair = createKeyPair(new Uint8Array(32).fill(i + 1))
  return { ...pair, key: importPublicKey(pair.publicKey) }
})

/** A signature by one signer, verified with the key of the same or another signer, with or without a flipped bit. */
const claims = fc
  .record({
    by: fc.nat(signers.length - 1),
    as: fc.nat(signers.length - 1),
    isHonest: fc.boolean(),
    text: fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString('latin1')),
    bit: fc.option(fc.nat(511), { nil: undefined }),
  })
  .map(({ by, as, isHonest, text, bit }) => {
    const signer = signers[by]
    const other = signers[as]
    if (signer === undefined || other === undefined) throw new RangeError('no signer')
    const signature = signBytes(Buffer.from(text, 'latin1'), signer.secretKey)
    if (bit !== undefined && !isHonest) signature[bit >> 3] = (signature[bit >> 3] ?? 0) ^ (1 << (bit & 7))
    return { signature, text, key: isHonest ? signer.key : other.key }
  })

function startVerifier(options: Omit<VerifierOptions, 'logger'> = {}) {
  return createVerifier({ logger, processors: 2, ...options })
}

describe('spec 3.4: both threads give the same verdict', () => {
  test.each<[string, Omit<VerifierOptions, 'logger'>]>([
    ['two threads', {}],
    ['two threads, with ticket numbers that wrap around', { firstTicket: LAST_TICKET - 10 }],
    ['a thread that hangs', { thread: HANGING }],
    ['a thread that has failed', { thread: FAILING }],
    ['a thread that cannot be started', { thread: new URL('https://x.test/thread.ts'), restartMs: 0 }],
    ['one processor', { processors: 1 }],
  ])('property: %s', async (_, options) => {
    await using verifier = startVerifier(options)
    const bursts = fc.array(claims, { minLength: 1, maxLength: 40 })
    await fc.assert(
      fc.asyncProperty(bursts, async (burst) => {
        const verdicts = await Promise.all(burst.map((each) => verifier.verify(each.signature, each.text, each.key)))
        const expected = burst.map(({ signature, text, key }) =>
          verifyRequestNode(signature, Buffer.from(text, 'latin1'), key),
        )
        expect(verdicts).toEqual(expected)
      }),
      { numRuns: 40 },
    )
  })

  const [signer] = signers
  if (signer === undefined) throw new RangeError('no signer')
  const signed = (text: string) => [signBytes(Buffer.from(text), signer.secretKey), text, signer.key] as const

  test('signatures beyond the free slots, and texts longer than a slot, are verified on the event loop', async () => {
    await using verifier = startVerifier({ thread: HANGING })
    const first = Array.from({ length: RING_SLOTS }, (_, i) => verifier.verify(...signed(`text ${i}`)))
    expect(verifier.verify(...signed('one more'))).toBe(true)
    const long = signed('x'.repeat(RING_TEXT_BYTES + 1))
    expect(verifier.verify(...long)).toBe(true)
    expect(verifier.verify(long[0], `${long[1]}x`, long[2])).toBe(false)
    expect(await Promise.all(first)).toEqual(first.map(() => true))
    expect(verifier.verify(...signed('there is room again'))).toBeInstanceOf(Promise)
  })

  test('the thread verifies signatures while the event loop is busy', async () => {
    const claimed = Array.from({ length: 100 }, (_, i) => signed(`text ${i}`))
    const memory = createRingMemory()
    const ring = new VerifyRing(memory)
    const tickets = claimed.map(([signature, text, key], i) => {
      return { ticket: ring.put(key.bytes, signature, i % 3 === 0 ? `${text}.` : text) ?? Number.NaN, i }
    })
    // Queue all of them before the thread starts, because a single signature does not wake it.
    const thread = new Worker(new URL('./verify-thread.ts', import.meta.url), { workerData: memory })
    for (const { ticket, i } of tickets) {
      let verdict = ring.collect(ticket)
      for (; verdict === undefined; verdict = ring.collect(ticket)) await turn()
      expect(verdict).toBe(i % 3 !== 0)
    }
    await thread.terminate()
  })

  test('an error in the verification fails only its own request', async () => {
    await using verifier = startVerifier({ thread: HANGING })
    const [signature, text, key] = signed('text')
    const verify = () => {
      throw new TypeError('no key')
    }
    const broken = { bytes: key.bytes, verify }
    const keys = [broken, key, broken, key]
    for (let i = 0; i < RING_SLOTS; i += keys.length) {
      const outcomes = await Promise.allSettled(keys.map((each) => verifier.verify(signature, text, each)))
      expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled', 'rejected', 'fulfilled'])
    }
    // The slots are free again.
    expect(verifier.verify(signature, text, key)).toBeInstanceOf(Promise)
  })

  test('the end of a thread is logged, and the thread is replaced', async () => {
    const error = vi.fn()
    const options = { thread: FAILING, restartMs: 0, logger: { error } } as unknown as VerifierOptions
    await using verifier = startVerifier(options)
    while (error.mock.calls.length < 3) {
      const verdicts = [1, 2, 3].map((i) => verifier.verify(...signed(`text ${i}`)))
      expect(await Promise.all(verdicts)).toEqual([true, true, true])
    }
    expect(error.mock.calls[0]?.[0].err.message).toBe('this thread fails')
  })

  test('a thread that has just ended is not replaced at once', async () => {
    const error = vi.fn()
    const options = { thread: FAILING, restartMs: 2 ** 30, logger: { error } } as unknown as VerifierOptions
    await using verifier = startVerifier(options)
    for (let burstsSince = 0; burstsSince < 1_000; burstsSince += error.mock.calls.length) {
      await Promise.all([1, 2, 3].map((i) => verifier.verify(...signed(`text ${i}`))))
    }
    expect(error).toHaveBeenCalledTimes(1)
  })
})
