/** Checks of requests that cannot be written as data. Each gives what is wrong. */
import type { SealedEnvelope } from '@svc/envelope/envelope.ts'
import { openEnvelope } from '@svc/envelope/seal.ts'
import { memberOf } from './cast.ts'
import { placeOf, type Seen } from './seen.ts'
import type { ScriptedService } from './service.ts'

type Check = (requests: readonly Seen[], service: ScriptedService) => Iterable<string> | AsyncIterable<string>

/** Two nonces of 128 random bits that differ in fewer bits are found once in 10^15 pairs. */
const LEAST_DIFFERENCE = 20

export const CHECKS: Readonly<Record<string, Check>> = {
  *'nonces are random'(requests) {
    const nonces = requests.map(({ authentication }) => BigInt(`0x${authentication?.nonce.slice(0, 32) || '0'}`))
    for (const [at, one] of nonces.entries())
      for (const other of nonces.slice(at + 1))
        if (bitsOf(one ^ other) < LEAST_DIFFERENCE) yield 'nonces resemble each other: take them from a random source'
  },
  *'ids differ'(requests) {
    if (new Set(requests.map((one) => envelopeOf(one).id)).size < requests.length) yield 'two messages have the same id'
  },
  *'ephemeral keys differ'(requests) {
    const keys = requests.map((one) => (envelopeOf(one) as SealedEnvelope).ephemeral_pub)
    if (new Set(keys).size < requests.length) yield 'two envelopes were sealed with the same ephemeral key'
  },
  async *'sealed for alice'(requests) {
    for (const one of requests) {
      try {
        await openEnvelope(envelopeOf(one), memberOf('alice').secretKey, memberOf('bob').publicKey)
      } catch (error) {
        yield `alice cannot open what came: ${(error as Error).message}`
      }
    }
  },
  *'from is an address'(requests) {
    for (const one of requests)
      if (!envelopeOf(one).from.includes('@')) yield 'from is an agent id, which a stranger cannot look up'
  },
  *'boards are listed before a repeat'(requests, { seen }) {
    const [first, second] = requests
    if (first === undefined || second === undefined) return
    const between = seen.slice(seen.indexOf(first), seen.indexOf(second))
    if (!between.some(({ route }) => route === 'GET /v2/boards'))
      yield 'it was repeated, and no list of boards came between'
  },
  *'the beginning is read once'(_, { seen }) {
    const reads = seen.filter((one) => ['GET /v2/events', 'GET /v2/stream'].includes(one.route) && placeOf(one) === 0)
    if (reads.length > 1) yield 'it began at the oldest event again'
  },
  *'nothing went elsewhere'(_, { elsewhere }) {
    if (elsewhere.length > 0) yield 'the client followed a redirect to another server'
  },
}

function envelopeOf({ body }: Seen): SealedEnvelope {
  return JSON.parse(body)
}

function bitsOf(value: bigint): number {
  return value.toString(2).replaceAll('0', '').length
}
