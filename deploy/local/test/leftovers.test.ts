import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { createMark, findMarked, type Mark, reclaim } from '@svc/processes/marks.ts'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { findTestRun } from '../../../test/support/engines/engines.ts'
import { eventually } from '../../../test/support/eventually.ts'

let folder: string
let mark: Mark
let holders: ChildProcess[]

beforeEach(async () => {
  folder = await makeFolder()
  mark = createMark(folder)
  holders = []
})

afterEach(async () => {
  for (const holder of holders) holder.kill('SIGKILL')
  await reclaim(mark.stack)
  await eventually(() => findMarked(mark.stack).length === 0)
})

/** A folder that is removed with the test run, however the run ends. */
async function makeFolder(): Promise<string> {
  return mkdtempSync(join((await findTestRun()).folder, 'leftovers-'))
}

/** @returns the first line that the process printed. */
async function hold(): Promise<string> {
  const path = fileURLToPath(new URL('./holder.ts', import.meta.url))
  const holder = spawn(process.execPath, [path, folder], { stdio: ['pipe', 'pipe', 'inherit'] })
  holders.push(holder)
  const [line] = (await once(createInterface({ input: holder.stdout }), 'line')) as [string]
  return line
}

function namesOf(): string[] {
  return findMarked(mark.stack).map(({ name }) => name)
}

test('kill -9 of the launcher: its keeper ends everything', async () => {
  expect(await hold()).toBe('holding')
  expect(namesOf().toSorted()).toEqual(['keeper', 'nats'])
  holders[0]?.kill('SIGKILL')
  await eventually(() => namesOf().length === 0)
})

test('kill -9 of the launcher and its keeper: the next start ends the rest', async () => {
  await hold()
  const keeper = findMarked(mark.stack).find(({ name }) => name === 'keeper')
  for (const pid of [keeper?.pid, holders[0]?.pid]) if (pid !== undefined) process.kill(pid, 'SIGKILL')
  await eventually(() => expect(namesOf()).toEqual(['nats']))
  expect(await reclaim(mark.stack)).toEqual(['nats'])
  expect(namesOf()).toEqual([])
})

test('one data folder has one stack; after a kill -9 the next one gets it', async () => {
  expect(await hold()).toBe('holding')
  expect(await hold()).toContain('already running on this data')
  holders[0]?.kill('SIGKILL')
  expect(await hold()).toBe('holding')
})

test('if two start at once, only one gets the folder', async () => {
  const answers = await Promise.all([hold(), hold(), hold()])
  expect(answers.filter((answer) => answer === 'holding')).toHaveLength(1)
})

test('a stack ends its own processes and no others', async () => {
  await hold()
  expect(await reclaim(createMark(await makeFolder()).stack)).toEqual([])
  expect(namesOf()).toContain('nats')
})
