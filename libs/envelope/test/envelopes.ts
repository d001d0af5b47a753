import { createKeyPair, type KeyPair } from '@svc/svc1/key-pair.ts'
import fc from 'fast-check'
import { ENVELOPE_TYPES, type UnsignedEnvelope } from '../src/envelope.ts'
import type { JsonValue } from '../src/json-value.ts'
import { jsonValues } from './json-texts.ts'

export const alice: KeyPair = createKeyPair(new Uint8Array(32).fill(1))
export const bob: KeyPair = createKeyPair(new Uint8Array(32).fill(2))
export const mallory: KeyPair = createKeyPair(new Uint8Array(32).fill(3))

/** An envelope with every possible member. */
export const FULL: UnsignedEnvelope = {
  id: 'message-1',
  from: alice.agentId,
  to: 'bob@127.0.0.1:8080',
  type: 'request',
  ts: '2026-11-20T12:28:31Z',
  ttl: 60,
  reply_to: 'message-0',
  thread_id: 'thread-00',
  body: { text: 'hello', count: 1.5, list: [null, true, '€😀'] },
}

const ids = fc.stringMatching(/^[A-Za-z0-9_-]{8,80}$/)

/** Alice as a sender, in both forms. */
export const ALICE_ADDRESS = 'alice@127.0.0.1:8080'
const senders = fc.constantFrom(alice.agentId, ALICE_ADDRESS)

/** Envelopes from alice, by id or by address, with any body and with or without the optional members. */
export const envelopes: fc.Arbitrary<UnsignedEnvelope> = fc.record(
  {
    id: ids,
    from: senders,
    to: fc.constantFrom('bob@127.0.0.1:8080', 'board:aaaaaaaaaaaaaaaaaaaa'),
    type: fc.constantFrom(...ENVELOPE_TYPES),
    ts: fc
      .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
      .map((date) => date.toISOString()),
    body: jsonValues.map((value) => JSON.parse(JSON.stringify(value)) as JsonValue),
    ttl: fc.nat(),
    reply_to: ids,
    thread_id: ids,
  },
  { requiredKeys: ['id', 'from', 'to', 'type', 'ts', 'body'] },
)

/** Every way to change one member of an envelope: change its value, remove it, add one. `others` has another value for each member. */
export function changes<E extends object>(envelope: E, others: Record<string, JsonValue>): [string, E][] {
  return Object.entries(others).flatMap(([name, other]): [string, E][] => {
    const rest = Object.fromEntries(Object.entries(envelope).filter(([member]) => member !== name)) as E
    const changed: [string, E] = [`${name} changed`, { ...envelope, [name]: other }]
    return name in envelope ? [changed, [`${name} removed`, rest]] : [[`${name} added`, { ...envelope, [name]: other }]]
  })
}
