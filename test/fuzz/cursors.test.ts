/** Cursors: a list refuses every cursor that it did not issue. */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Agent, HttpAnswer } from '../support/client/agent.ts'
import { got, outcomeOf } from '../support/client/answers.ts'
import { shareHarness } from '../support/system/harness.ts'
import { brokenBytes } from './broken.ts'
import { runsOf, TIMEOUT_MS } from './plan.ts'
import { type Scene, startScene } from './scene.ts'

const TOGETHER = 20

interface Issued {
  readonly agent: Agent
  /** The path of the list, up to the cursor. */
  readonly list: string
  readonly cursor: string
}

let scene: Scene
let issued: Issued[]
beforeAll(async () => {
  scene = await startScene(await shareHarness('roomy'))
  const { alice, bob, publicBoard, privateBoard } = scene
  for (const agent of [alice, bob]) {
    for (let sent = 0; sent < 3; sent += 1) {
      await got(agent.send(agent === alice ? bob : alice))
      await got(agent.send(`board:${publicBoard}`))
      await got(agent.send(`board:${privateBoard}`))
    }
  }
  const boards = [publicBoard, privateBoard].map((board) => `/v2/boards/${board}/messages`)
  const lists = [...['/v2/inbox', '/v2/export'], ...boards].map((path) => `${path}?limit=1&after=`)
  issued = await Promise.all(
    [alice, bob].flatMap((agent) =>
      lists.map(async (list) => {
        const { body } = await got(agent.get(list.replace('&after=', '')))
        return { agent, list, cursor: String(body.next_cursor) }
      }),
    ),
  )
})
afterAll(() => scene?.[Symbol.asyncDispose]())

/** Encodes the apostrophe too, as `URL` does. Otherwise the sent target would differ from the signed one. */
const encoded = (text: string): string => encodeURIComponent(text).replaceAll("'", '%27')
const ask = ({ agent, list }: Issued, cursor: string): Promise<HttpAnswer> => agent.get(`${list}${encoded(cursor)}`)

test('spec 7.9: a cursor is valid only for its own list', async () => {
  for (const own of issued) {
    expect(own.cursor).not.toBe('')
    expect(outcomeOf(await ask(own, own.cursor))).toBe('200')
    for (const other of issued.filter(({ cursor }) => cursor !== own.cursor)) {
      expect(outcomeOf(await ask(own, other.cursor))).toBe('400 invalid_cursor')
    }
  }
})

test('spec 7.9: a cursor with any change is refused', { timeout: TIMEOUT_MS }, async () => {
  const changes = fc.record({
    which: fc.nat(),
    cursor: fc.nat().chain((which) => {
      const { cursor = '' } = issued[which % issued.length] ?? {}
      return fc.oneof(
        brokenBytes(fc.constant(Buffer.from(cursor))).map((bytes) => Buffer.from(bytes).toString('latin1')),
        brokenBytes(fc.constant(Buffer.from(cursor, 'base64url'))).map((bytes) =>
          Buffer.from(bytes).toString('base64url'),
        ),
        fc.constantFrom(cursor.toUpperCase(), `${cursor}=`, ` ${cursor}`, `${cursor}\n`, cursor.replaceAll('-', '+')),
      )
    }),
  })
  const known = new Set(issued.map(({ cursor }) => cursor))
  await fc.assert(
    fc.asyncProperty(fc.array(changes, { minLength: TOGETHER, maxLength: TOGETHER }), async (batch) => {
      const answers = await Promise.all(
        batch
          .filter(({ cursor }) => !known.has(cursor))
          .map(async ({ which, cursor }) => {
            const list = issued[which % issued.length]
            return list === undefined ? '' : `${outcomeOf(await ask(list, cursor))} ${JSON.stringify(cursor)}`
          }),
      )
      expect(answers.filter((answer) => !answer.startsWith('400 invalid_cursor'))).toEqual([])
    }),
    { ...runsOf('cursors', TOGETHER * 2), endOnFailure: true },
  )
})

test('spec 9.4: a cursor of events is a nonnegative integer', {
  timeout: 60_000,
}, async () => {
  const texts = fc.oneof(
    fc.maxSafeNat().map(String),
    fc.string({ unit: fc.constantFrom(...'0123456789+-.eE xX'), maxLength: 20 }),
    fc.constantFrom('', '00', '-0', '1e3', '0x10', ' 1', '1 ', '9007199254740992', '99999999999999999999', 'NaN', '１'),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(texts, { minLength: TOGETHER, maxLength: TOGETHER }), async (batch) => {
      const answers = await Promise.all(
        batch.map(async (text) => {
          const answer = await scene.alice.get(`/v2/events?after=${encodeURIComponent(text)}`)
          const right = /^\d+$/.test(text) && Number.isSafeInteger(Number(text))
          return outcomeOf(answer) === (right ? '200' : '400 invalid_cursor') ? '' : `${outcomeOf(answer)} ${text}`
        }),
      )
      expect(answers.filter((answer) => answer !== '')).toEqual([])
    }),
    { ...runsOf('cursors', TOGETHER * 2), endOnFailure: true },
  )
})
