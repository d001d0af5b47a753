/** A client can spell a small message with many bytes. The service stores, relays and returns only the bytes that it charges for. */
import type { SignedEnvelope } from '@svc/envelope/envelope.ts'
import type { JsonValue } from '@svc/envelope/json-value.ts'
import { verifyEnvelope } from '@svc/envelope/sign-envelope.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Agent } from '../support/client/agent.ts'
import { got, outcomeOf, spendingOf } from '../support/client/answers.ts'
import { newBoard, subscribe } from '../support/client/boards.ts'
import { eventually } from '../support/eventually.ts'
import { startReceiver, type WebhookReceiver } from '../support/stand-ins/webhook-receiver.ts'
import { type Harness, startHarness } from '../support/system/harness.ts'

const SECRET = '0123456789abcdef0123456789abcdef'
const ZEROS = '0'.repeat(90_000)

/** Bodies of one unit: the value, the text that a client sends instead, and the stored text. */
const SPELLINGS: readonly (readonly [string, JsonValue, string])[] = [
  ['zeros after the point', 1, `1.${ZEROS}`],
  ['zeros in the exponent', 1, `1e${ZEROS}`],
  ['digits beyond the precision of a double', 0.1, `0.1${ZEROS}1`],
  ['escapes of letters', 'a'.repeat(1_000), `"${'\\u0061'.repeat(1_000)}"`],
  ['escaped names', { a: { b: 1 } }, '{"\\u0061":{"\\u0062":1}}'],
  ['white space', [[], {}], `[ [ ] ,${' '.repeat(90_000)}{\n}\t]`],
]

let receiver: WebhookReceiver
let h: Harness
beforeAll(async () => {
  receiver = await startReceiver()
  h = await startHarness({
    replicas: { gateway: 1, identity: 1, messaging: 1, boards: 1, budget: 1, stream: 1, webhook: 1 },
    env: {
      SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: receiver.host,
      NODE_EXTRA_CA_CERTS: receiver.caFile,
    },
  })
})
afterAll(async () => {
  await h?.[Symbol.asyncDispose]()
  await receiver?.[Symbol.asyncDispose]()
})

/** The text of an envelope whose body is spelled differently. */
function spell(envelope: SignedEnvelope, spelled: string): string {
  const { body: _, ...rest } = envelope
  return `{"body":${spelled},${JSON.stringify(rest).slice(1)}`
}

/** The raw answers that contain the message. */
async function readAll(reader: Agent, paths: readonly string[]): Promise<string[]> {
  return Promise.all(paths.map(async (path) => (await got(reader.get(path))).text))
}

describe('spec 6.6: the charged bytes are the stored bytes, whatever the client wrote', () => {
  test.each(SPELLINGS)('a direct message with %s', async (_name, body, spelled) => {
    const [alice, bob] = await h.agents(2)
    await got(bob.patch('/v2/me', { inbox_policy: 'open' }))
    await got(bob.put('/v2/webhook', { url: receiver.urlFor(`/${bob.name}`), secret: SECRET }))
    const envelope = alice.envelope(bob, body)
    const sent = spell(envelope, spelled)
    const kept = JSON.stringify(JSON.parse(sent))
    expect(outcomeOf(await alice.post('/v2/messages', sent))).toBe('202')
    expect((await spendingOf(alice)).units).toBe(1)

    const paths = [`/v2/messages/${envelope.id}`, '/v2/inbox', '/v2/events', '/v2/export']
    for (const text of await readAll(bob, paths)) {
      expect(text).toContain(`"envelope":${kept},`)
      expect(text.length).toBeLessThan(kept.length + 300)
    }
    expect(verifyEnvelope(JSON.parse(kept), alice.key.publicKey)).toBe(true)
    await eventually(() => expect(receiver.at(`/${bob.name}`).map((request) => String(request.body))).toEqual([kept]))

    for (const again of [sent, kept]) {
      expect(await alice.post('/v2/messages', again)).toMatchObject({ status: 200, body: { duplicate: true } })
    }
    expect((await spendingOf(alice)).units).toBe(1)
  })

  test('a post with zeros after the point', async () => {
    const [olga, rita] = await h.agents(2)
    const board = await newBoard(olga)
    await subscribe(rita, board)
    const before = (await spendingOf(olga)).units
    const envelope = olga.envelope(`board:${board}`, 1)
    const sent = spell(envelope, `1.${ZEROS}`)
    const kept = JSON.stringify(JSON.parse(sent))
    expect(outcomeOf(await olga.post('/v2/messages', sent))).toBe('202')
    expect((await spendingOf(olga)).units - before).toBe(1)
    const paths = [`/v2/messages/${envelope.id}`, `/v2/boards/${board}/messages`, '/v2/events']
    for (const text of await readAll(rita, paths)) {
      expect(text).toContain(`"envelope":${kept},`)
      expect(text.length).toBeLessThan(kept.length + 300)
    }
    expect(await olga.post('/v2/messages', sent)).toMatchObject({ status: 200, body: { duplicate: true } })
  })

  test('extra zeros in ttl are not stored, and extra zeros in the fraction of ts are refused', async () => {
    const [alice, bob] = await h.agents(2)
    const envelope = alice.envelope(bob, 'hello', { ttl: 60 })
    const spelled = JSON.stringify(envelope).replace('"ttl":60', `"ttl":60.${ZEROS}`)
    expect(outcomeOf(await alice.post('/v2/messages', spelled))).toBe('202')
    expect((await got(bob.get(`/v2/messages/${envelope.id}`))).text).toContain(JSON.stringify(envelope))

    const ts = (digits: number) => `${new Date().toISOString().slice(0, 19)}.${'0'.repeat(digits)}Z`
    for (const digits of [10, 60_000]) {
      expect(outcomeOf(await alice.send(bob, 'hello', { ts: ts(digits) }))).toBe('400 invalid_envelope')
    }
    expect(outcomeOf(await bob.send(alice, 'hello', { ts: ts(9) }))).toBe('202')
  })
})
