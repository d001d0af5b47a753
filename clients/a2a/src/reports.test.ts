import { StreamResponse, Task } from '@a2a-js/sdk'
import { Shelf } from '@svc/sdk/store/shelf.ts'
import { createMemoryStore } from '@svc/sdk/store/store.ts'
import { expect, test } from 'vitest'
import type { Outbox, Outgoing } from './outbox.ts'
import { Reports } from './reports.ts'
import { type InboundTurn, Turns } from './turns.ts'
import { decodePiece, joinPieces } from './wire.ts'

const TURN: InboundTurn = {
  turn: 'turn-one',
  task: 'turn-one',
  sender: { agentId: 'sender', name: 'alice' },
  request: {},
  atMs: Date.now(),
  context: 'c',
  given: 1,
  isCancelled: false,
  seq: 0,
  over: false,
}

/** @param add takes the place of the outbox. */
async function open(add: Outbox['add']): Promise<{ turns: Turns; reports: Reports }> {
  const turns = new Turns(await Shelf.open(createMemoryStore(), 'turns/', 100_000))
  await turns.put(TURN)
  return { turns, reports: new Reports(turns, { add } as Outbox) }
}

const wiresOf = (all: readonly Outgoing[]) => all.map(({ body }) => joinPieces([decodePiece(body)?.text ?? '']))

test('a state that was perhaps sent before a crash never shares its number with the result', async () => {
  const sent: Outgoing[] = []
  let fails = true
  const { turns, reports } = await open(async (all) => {
    sent.push(...all)
    if (fails) throw new Error('killed')
    return { settled: Promise.resolve() }
  })
  await expect(reports.progress(TURN, Task.fromJSON({ id: 't' }))).rejects.toThrow('killed')
  fails = false
  await reports.end(TURN, StreamResponse.fromJSON({ task: { id: 't' } }))
  expect(wiresOf(sent)).toMatchObject([
    { seq: 1, last: false },
    { seq: 2, last: true },
  ])
  expect(turns.latest(TURN)).toMatchObject({ over: true, request: {} })
})

test('progress leaves out artifacts that cost more than 4 units, and a result the text of requests', async () => {
  const sent: Outgoing[] = []
  const { reports } = await open(async (all) => {
    sent.push(...all)
    return { settled: Promise.resolve() }
  })
  const long = Array.from({ length: 9_000 }, (_, at) => (at * 7_919).toString(36)).join('')
  const history = [{ messageId: 'turn-one', role: 'ROLE_USER', parts: [{ text: 'request' }] }]
  const task = Task.fromJSON({ id: 't', artifacts: [{ artifactId: 'a', parts: [{ text: long }] }], history })
  expect((await reports.progress(TURN, task)).units).toBeLessThanOrEqual(4)
  expect(wiresOf(sent)).toMatchObject([{ response: { task: { id: 't' } } }])
  expect(JSON.stringify(wiresOf(sent))).not.toContain('artifactId')
  sent.length = 0
  await reports.end(TURN, StreamResponse.fromJSON({ task: { id: 't', history } }))
  expect(JSON.stringify(wiresOf(sent))).toContain('"messageId":"turn-one"')
  expect(JSON.stringify(wiresOf(sent))).not.toContain('"text"')
})
