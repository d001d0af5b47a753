import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRingMemory, RING_SLOTS, RING_TEXT_BYTES, VerifyRing } from './verify-ring.ts'

const LAST_TICKET = 2 ** 30 - 1
const KEY = new Uint8Array(32).fill(1)
const SIGNATURE = new Uint8Array(64).fill(2)

/** One ring, as seen by each of two threads. */
function twoSides(firstTicket = 0): [putting: VerifyRing, taking: VerifyRing] {
  const memory = createRingMemory(firstTicket)
  return [new VerifyRing(memory), new VerifyRing(memory)]
}

/** @throws if the ring is full. */
function put(ring: VerifyRing, text = 'text'): number {
  const ticket = ring.put(KEY, SIGNATURE, text)
  if (ticket === undefined) throw new Error('no room')
  return ticket
}

describe('a ring of signatures', () => {
  test('property: a taken item has the bytes that were put in', () => {
    const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })
    const texts = fc.uint8Array({ maxLength: RING_TEXT_BYTES }).map((text) => Buffer.from(text).toString('latin1'))
    const [putting, taking] = twoSides()
    fc.assert(
      fc.property(bytes(32), bytes(64), texts, (publicKey, signature, text) => {
        const ticket = putting.put(publicKey, signature, text) ?? Number.NaN
        expect(taking.take()).toBe(ticket)
        const entry = taking.read(ticket)
        expect([...entry.publicKey]).toEqual([...publicKey])
        expect([...entry.signature]).toEqual([...signature])
        expect(Buffer.from(entry.signed).toString('latin1')).toBe(text)
        taking.settle(ticket, true)
        putting.collect(ticket)
      }),
      { numRuns: RING_SLOTS * 2 },
    )
  })

  test('property: each ticket is taken once, in order, and its first verdict counts, in any interleaving of the threads', () => {
    const steps = fc.oneof(
      { weight: 4, arbitrary: fc.record({ do: fc.constant('put' as const) }) },
      { weight: 3, arbitrary: fc.record({ do: fc.constant('take' as const), side: fc.nat(1) }) },
      {
        weight: 3,
        arbitrary: fc.record({
          do: fc.constant('settle' as const),
          which: fc.nat(),
          side: fc.nat(1),
          isValid: fc.boolean(),
        }),
      },
      { weight: 2, arbitrary: fc.record({ do: fc.constant('collect' as const), which: fc.nat() }) },
    )
    const firsts = fc.constantFrom(0, 1, LAST_TICKET - 20, LAST_TICKET)
    fc.assert(
      fc.property(firsts, fc.array(steps, { minLength: 50, maxLength: 400 }), (first, plan) => {
        const sides = twoSides(first)
        const [putting] = sides
        const waiting: number[] = []
        const taken: number[] = []
        /** Not collected yet. */
        const held: number[] = []
        const verdicts = new Map<number, boolean>()
        let puts = 0
        for (const step of plan) {
          if (step.do === 'put') {
            const ticket = put(putting)
            expect(ticket).toBe((first + puts) % (LAST_TICKET + 1))
            puts += 1
            waiting.push(ticket)
            held.push(ticket)
          } else if (step.do === 'take') {
            expect(sides[step.side]?.take()).toBe(waiting[0])
            taken.push(...waiting.splice(0, 1))
          } else if (step.do === 'settle') {
            // Also settle a ticket twice, and one that was collected long ago.
            const ticket = taken[step.which % taken.length]
            if (ticket === undefined) continue
            sides[step.side]?.settle(ticket, step.isValid)
            if (!verdicts.has(ticket)) verdicts.set(ticket, step.isValid)
          } else {
            const at = step.which % held.length
            const ticket = held[at]
            if (ticket === undefined) continue
            expect(putting.collect(ticket)).toBe(verdicts.get(ticket))
            if (verdicts.has(ticket)) held.splice(at, 1)
          }
          expect(putting.waiting).toBe(waiting.length)
          if (held.length === RING_SLOTS - 1) break
        }
      }),
    )
  })

  test('it is full if all its slots hold verdicts that were not collected, ready or not', () => {
    const [putting, taking] = twoSides(LAST_TICKET - 3)
    const tickets = Array.from({ length: RING_SLOTS }, () => put(putting))
    expect(putting.put(KEY, SIGNATURE, '')).toBeUndefined()
    const [first = 0] = tickets
    expect(taking.take()).toBe(first)
    taking.settle(first, true)
    expect(putting.put(KEY, SIGNATURE, '')).toBeUndefined()
    expect(putting.collect(first)).toBe(true)
    expect(putting.put(KEY, SIGNATURE, '')).toBeTypeOf('number')
  })

  test('a verdict that comes when the slot holds another signature is dropped', () => {
    const [putting, taking] = twoSides()
    const late = put(putting)
    taking.take()
    putting.settle(late, false)
    expect(putting.collect(late)).toBe(false)
    const others = Array.from({ length: RING_SLOTS }, () => put(putting))
    taking.settle(late, true)
    for (const ticket of others) expect(putting.collect(ticket)).toBeUndefined()
  })

  test('a text that is longer than a slot is not put in', () => {
    const [putting] = twoSides()
    expect(putting.put(KEY, SIGNATURE, 'x'.repeat(RING_TEXT_BYTES))).toBeTypeOf('number')
    expect(putting.put(KEY, SIGNATURE, 'x'.repeat(RING_TEXT_BYTES + 1))).toBeUndefined()
  })

  test('a key or a signature of another length is refused, and takes no slot', () => {
    const [putting] = twoSides()
    for (const length of [0, 63, 65]) {
      expect(() => putting.put(KEY, new Uint8Array(length), '')).toThrow(RangeError)
      expect(() => putting.put(new Uint8Array(length), SIGNATURE, '')).toThrow(RangeError)
    }
    expect(putting.waiting).toBe(0)
  })

  test('no thread sleeps while a signature waits', () => {
    const [putting, taking] = twoSides()
    put(putting)
    taking.sleep() // would block this test forever
    expect(taking.take()).toBeTypeOf('number')
  })
})
