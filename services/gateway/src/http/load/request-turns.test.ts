import { expect, test } from 'vitest'
import type { Slot } from './load.ts'
import { createRequestTurns } from './request-turns.ts'

/** Requests of which each turn of the event loop can begin this many. */
function createRequests(perTurn: number) {
  let left = 0
  const turns = createRequestTurns({ hasUsed: () => left <= 0 })
  const begun: string[] = []
  return {
    begun,
    turns,
    ask(name: string, slot: Partial<Slot> = {}) {
      const waiting = turns.wait({ kind: 'read', client: name, ...slot })
      const begin = (): void => {
        begun.push(name)
        left -= 1
      }
      if (waiting === undefined) begin()
      else void waiting.then(begin)
    },
    async turn() {
      left = perTurn
      await new Promise(setImmediate)
    },
  }
}

test('requests begin at once until the turn is used up, and further ones begin in the next turns, one of each client at a time', async () => {
  const requests = createRequests(3)
  await requests.turn()
  for (let at = 0; at < 6; at += 1) requests.ask('greedy')
  for (const client of ['a', 'b', 'a']) requests.ask(client)
  expect(requests.begun).toEqual(['greedy', 'greedy', 'greedy'])
  await requests.turn()
  expect(requests.begun.slice(3)).toEqual(['greedy', 'a', 'b'])
  requests.ask('late')
  await requests.turn()
  expect(requests.begun.slice(6)).toEqual(['greedy', 'a', 'late'])
  await requests.turn()
  await requests.turn()
  requests.ask('free')
  expect(requests.begun.slice(9)).toEqual(['greedy', 'free'])
})

test('unsigned requests of all clients begin at most every second time, and all documents count as one client', async () => {
  const requests = createRequests(6)
  for (let at = 0; at < 4; at += 1) requests.ask(`document ${at}`, { kind: 'document', isUnsigned: true })
  for (let at = 0; at < 4; at += 1) requests.ask(`stranger ${at}`, { isUnsigned: true })
  for (let at = 0; at < 4; at += 1) requests.ask(`agent ${at}`)
  requests.ask('health', { kind: 'probe', isUnsigned: true })
  await requests.turn()
  expect(requests.begun).toEqual(['agent 0', 'document 0', 'agent 1', 'stranger 0', 'agent 2', 'stranger 1'])
  await requests.turn()
  expect(requests.begun.slice(6)).toEqual(['agent 3', 'stranger 2', 'health', 'stranger 3', 'document 1', 'document 2'])
})

test('a request learns how long it has waited', async () => {
  const turns = createRequestTurns({ hasUsed: () => true })
  expect(await turns.wait({ kind: 'read', client: 'a' })).toBeGreaterThanOrEqual(0)
})
