/** The suite against clients: one that keeps the rules or breaks one of them, our SDK, the program of the guide in Python. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { AdapterDriver, type Driver } from '../src/client/driver.ts'
import { runCase } from '../src/client/run-case.ts'
import { allCases, listClientCases, runClientSuite } from '../src/client/suite.ts'
import { FAULTS } from './client-faults.ts'

const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const WITH_FAULTS = [process.execPath, own('client-with-faults.ts')]

test('spec 13.2: a client that keeps the rules passes every case', async () => {
  const results = await runClientSuite({ command: WITH_FAULTS })
  expect(results.filter(({ status }) => status !== 'passed')).toEqual([])
  expect(results.map(({ id }) => id)).toEqual(listClientCases().map(({ id }) => id))
})

test('spec 13.2: a client that breaks a rule fails the cases of this rule', async () => {
  const cases = new Map(allCases().map((one) => [one.id, one]))
  const queue = Object.entries(FAULTS).flatMap(([fault, ids]) => ids.map((id) => ({ fault, id })))
  const missed: string[] = []
  const workers = Array.from({ length: 6 }, async () => {
    await using driver = new AdapterDriver(WITH_FAULTS)
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      const { fault, id } = next
      const one = cases.get(id) ?? expect.unreachable(`there is no case ${id}`)
      const { status } = await runCase(one, withFault(driver, fault))
      if (status !== 'failed') missed.push(`${fault}: ${id} ${status}`)
    }
  })
  await Promise.all(workers)
  expect(missed).toEqual([])
})

function withFault(driver: Driver, fault: string): Driver {
  return {
    request: (operation, args, seconds) =>
      driver.request(operation, operation === 'start' ? { ...args, fault } : args, seconds),
    stop: () => driver.stop(),
  }
}

test('spec 13.2: every case finds a fault', () => {
  const finding = new Set(Object.values(FAULTS).flat())
  const idle = listClientCases().filter(({ id }) => !finding.has(id) && !id.startsWith('vectors/'))
  expect(idle.map(({ id }) => id)).toEqual([])
})
