import { describe, expect, test } from 'vitest'
import { keeperOf } from './keeper.ts'

const GATEWAYS = ['7d4f1c0b9a3e2865', '0f5b6c7d8e9a1b2c', 'c3d2e1f0a9b8c7d6', '1122334455667788']
const CLIENTS = Array.from({ length: 4_000 }, (_, at) => `198.51.${at >> 8}.${at & 255}`)

describe('which gateway keeps a client', () => {
  test('gateways agree on the keeper, whatever the order in which they learnt of each other', () => {
    const reversed = GATEWAYS.toReversed()
    for (const client of CLIENTS) expect(keeperOf(client, reversed)).toBe(keeperOf(client, GATEWAYS))
  })

  test('each gateway keeps about the same number of clients', () => {
    const counts = GATEWAYS.map((gateway) => CLIENTS.filter((client) => keeperOf(client, GATEWAYS) === gateway).length)
    for (const count of counts) expect(count / (CLIENTS.length / GATEWAYS.length)).toBeCloseTo(1, 0.5)
    expect(Math.min(...counts)).toBeGreaterThan(CLIENTS.length / GATEWAYS.length / 1.25)
  })

  test('if a gateway leaves, only its own clients get another keeper', () => {
    const [gone = '', ...left] = GATEWAYS
    for (const client of CLIENTS) {
      const before = keeperOf(client, GATEWAYS)
      if (before !== gone) expect(keeperOf(client, left)).toBe(before)
    }
  })
})
