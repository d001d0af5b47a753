/** The suite against clients: one that keeps the rules or breaks one of them, our SDK, and the program of the guide in Python. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { lacks } from '@svc/test/support/run/lacks.ts'
import { expect, test } from 'vitest'
import { AdapterDriver, type Driver } from '../src/client/driver.ts'
import { runCase } from '../src/client/run-case.ts'
import { allCases, listClientCases, runClientSuite } from '../src/client/suite.ts'
import { FAULTS } from './client-faults.ts'
import { unexpected } from './expected.ts'

const own = (path: string): string => fileURLToPath(new URL(path, import.meta.url))
const WITH_FAULTS = [process.execPath, own('client-with-faults.ts')]

test('spec 13.2: a client that keeps the rules passes every case', async () => {
  const results = await runClientSuite({ command: WITH_FAULTS })
  expect(results.filter(({ status }) => status !== 'passed')).toEqual([])
  expect(results.map(({ id }) => id)).toEqual(listClientCases().map(({ id }) => id))
})

test('spec 13.2: the SDK passes every case', async () => {
  expect(unexpected(await runClientSuite({ command: [process.execPath, own('../adapters/sdk.ts')] }), {})).toEqual([])
})

const PYTHON = ['/usr/bin/python3', 'python3'].find((program) => {
  try {
    execFileSync(program, ['-c', 'import cryptography'], { env: ENVIRONMENT, stdio: 'ignore' })
    return true
  } catch {
    return false
  }
})

const OF_PYTHON = {
  'it polls its events page by page, and has no calls for lists and boards': [
    'signing/empty-body',
    'signing/query',
    'retrying/reads',
    'retrying/new-board',
    'reading/inbox-end',
    'reading/events',
    'reading/skipped-events',
    'reading/gap',
    'reading/no-gap',
    'streams/',
  ],
  'it signs with the time of its machine, as the specification allows': [
    'clock/behind',
    'clock/ahead',
    'clock/warning',
  ],
}

test.skipIf(
  lacks(PYTHON === undefined ? 'no python3 has cryptography (apt-get install python3-cryptography)' : undefined),
)('spec 13.2: the program of the guide in Python passes every case that it can be asked', async () => {
  const page = readFileSync(new URL('../../../docs/guides/python.md', import.meta.url), 'utf8')
  const [, program = ''] = /^```python\n([\s\S]*?)^```$/m.exec(page) ?? []
  const folder = mkdtempSync(join(tmpdir(), 'svc-python-'))
  try {
    writeFileSync(join(folder, 'agent.py'), program)
    const command = [PYTHON ?? '', '-B', own('../adapters/python.py'), folder]
    expect(unexpected(await runClientSuite({ command }), OF_PYTHON)).toEqual([])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
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
