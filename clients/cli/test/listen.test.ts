import { readFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { runSvc } from '@svc/cli/program.ts'
import { AgentClient } from '@svc/sdk/client.ts'
import { parseKey } from '@svc/sdk/keys.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ONE_OF_EACH, startSystem, type TestSystem } from '@svc/test/support/system/system.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'

let system: TestSystem
const folder = temporaryFolder()
const key = (name: string): string => folder.path(`${name}.key`)
const as = (name: string, ...args: string[]) => svc(['--key', key(name), '--url', system.urls[0] ?? '', ...args])

beforeAll(async () => {
  system = await startSystem({ replicas: { ...ONE_OF_EACH, stream: 2 } })
  for (const name of ['anna', 'ben']) {
    await as(name, 'keygen')
    expect(await as(name, 'register', name)).toMatchObject({ exitCode: 0 })
  }
  expect(await as('ben', 'contacts', 'accept', 'anna')).toMatchObject({ exitCode: 0 })
})
afterAll(async () => {
  folder[Symbol.dispose]()
  await system?.[Symbol.asyncDispose]()
})

/** Runs `svc listen`, and gives access to its output while it runs. */
function startListening(...args: string[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()]
  const texts = { out: '', notes: '' }
  stdout.on('data', (chunk) => {
    texts.out += chunk
  })
  stderr.on('data', (chunk) => {
    texts.notes += chunk
  })
  const stop = new AbortController()
  const io = {
    env: { SVC_STATE_DIR: folder.path('svc') },
    stdin: new PassThrough(),
    stdout,
    stderr,
    signal: stop.signal,
  }
  const command = ['--key', key('ben'), '--url', system.urls[0] ?? '', 'listen', ...args]
  return { texts, done: runSvc(command, io), stop: () => stop.abort() }
}

const say = async (text: string): Promise<void> => {
  expect(await as('anna', 'send', 'ben', text)).toMatchObject({ exitCode: 0 })
}

test('svc listen shows messages as they arrive, survives restarts of the stream service, and shows nothing twice', {
  timeout: 60_000,
}, async () => {
  await say('before')
  const listening = startListening()
  await eventually(() => listening.texts.notes.includes('listening after cursor 1'))
  await say('first')
  await eventually(() => listening.texts.out.includes('first'))
  await Promise.all(['stream-1', 'stream-2'].map((name) => system.kill(name)))
  await say('meanwhile')
  await Promise.all(['stream-1', 'stream-2'].map((name) => system.start(name)))
  await say('last')
  await eventually(() => listening.texts.out.includes('last'))
  listening.stop()
  expect(await listening.done).toBe(130)
  const shown = listening.texts.out.split('\n').filter((line) => /^ {4}\S/.test(line))
  expect(shown.map((line) => line.trim()).filter((line) => line.startsWith('|'))).toEqual([
    '| first',
    '| meanwhile',
    '| last',
  ])
})

test('listen --after --count --json prints the events of the API', async () => {
  const listening = startListening('--after', '0', '--count', '2', '--json')
  expect(await listening.done).toBe(0)
  const shown = listening.texts.out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  expect(shown).toMatchObject([{ opened: { verified: true } }, { opened: { sender: { name: 'anna' } } }])
  const events = shown.map(({ opened: _opened, ...event }) => event)
  const client = new AgentClient({ url: system.urls[0] ?? '', key: parseKey(readFileSync(key('ben'), 'utf8').trim()) })
  expect(events).toEqual((await client.events().page()).items.slice(0, 2))
})
