/** `svc listen --exec` and `--forward`, against the real system. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { createWebhookHandler } from '@svc/sdk/webhook/webhook-receiver.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { findSvc } from '@svc/test/support/run/svc.ts'
import { type SharedSystem, shareSystem } from '@svc/test/support/system/shared-system.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'

const MAIN = await findSvc()
const KILL_AFTER = new URL('kill-after.ts', import.meta.url).href

let system: SharedSystem
const folder = temporaryFolder()
const key = (name: string): string => folder.path(`${name}.key`)
const as = (name: string, ...args: string[]) => svc(['--key', key(name), '--url', system.urls[0] ?? '', ...args])
const quietly = async (name: string, ...args: string[]): Promise<string> => {
  const run = await as(name, ...args, '--quiet')
  expect(run).toMatchObject({ exitCode: 0 })
  return run.stdout.trim()
}

beforeAll(async () => {
  system = await shareSystem('usual')
  await as('anna', 'keygen')
  expect(await as('anna', 'register', 'anna')).toMatchObject({ exitCode: 0 })
})
afterAll(async () => {
  folder[Symbol.dispose]()
  await system?.[Symbol.asyncDispose]()
})

/** An agent that accepts anna's messages and has its own state folder. */
async function startListener(name: string) {
  await as(name, 'keygen')
  expect(await as(name, 'register', name)).toMatchObject({ exitCode: 0 })
  expect(await as(name, 'contacts', 'accept', 'anna')).toMatchObject({ exitCode: 0 })
  const state = folder.path(`${name}-state`)
  const log = folder.path(`${name}.log`)
  return {
    state,
    send: (text: string, ...args: string[]) => quietly('anna', 'send', name, text, ...args),
    /** Lines that the commands wrote to LOG. */
    lines: () =>
      existsSync(log)
        ? readFileSync(log, 'utf8')
            .split('\n')
            .filter((line) => line !== '')
        : [],
    cursor: () => Number(JSON.parse(readFileSync(`${state}/process/place`, 'utf8')).cursor),
    receipts: (ids: string[]) => Promise.all(ids.map((id) => quietly('anna', 'receipt', id))),
    /** Runs `svc listen` from the oldest event. Its commands write to the file LOG. */
    listen(args: string[], { env = {}, preload = [] as string[] } = {}) {
      const command = ['--key', key(name), '--url', system.urls[0] ?? '', 'listen', '--after', '0', '--state', state]
      const child = spawn(process.execPath, [...preload, MAIN, ...command, ...args], {
        env: {
          ...ENVIRONMENT,
          LOG: log,
          SVC_CONFIG_DIR: folder.path('none'),
          SVC_STATE_DIR: folder.path('svc'),
          ...env,
        },
      })
      return { child, stdout: text(child.stdout), stderr: text(child.stderr), ended: exitOf(child) }
    },
  }
}

async function exitOf(child: ChildProcess): Promise<number | string> {
  const [code, signal] = await once(child, 'exit')
  return code ?? signal
}

test('runs a command for each message, with the body on its standard input and the rest in its environment', async () => {
  const ben = await startListener('ben')
  const id = await ben.send('hello\nthere', '--seal', '--type', 'request')
  const command =
    'echo "$SVC_MESSAGE_ID $SVC_FROM $SVC_FROM_ID $SVC_FROM_NAME $SVC_VERIFIED $SVC_SEALED $SVC_TYPE $SVC_LANE $SVC_ATTEMPT $(cat | tr "\\n" _)" >> "$LOG"'
  const run = ben.listen(['--exec', command, '--count', '1'])
  expect(await run.ended).toBe(0)
  const anna = await quietly('anna', 'key', 'show')
  expect(ben.lines()).toEqual([`${id} anna@${system.authority} ${anna} anna 1 1 request inbox 1 hello_there`])
  expect(await ben.receipts([id])).toEqual(['processed'])
  expect(await run.stdout).toContain(`${id} done`)
})

test('a failed command is retried; after the last attempt the message is a dead letter and stays unacknowledged', {
  timeout: 120_000,
}, async () => {
  const cleo = await startListener('cleo')
  const [bad, good] = [await cleo.send('bad'), await cleo.send('good')]
  const command = 'echo "$SVC_ATTEMPT" >> "$LOG"; if [ "$(cat)" = bad ]; then echo why >&2; exit 3; fi'
  const run = cleo.listen(['--exec', command, '--attempts', '2', '--count', '2'])
  expect(await run.ended).toBe(0)
  expect(cleo.lines()).toEqual(['1', '2', '1'])
  expect(await cleo.receipts([bad, good])).toEqual(['accepted', 'processed'])
  const [letter = ''] = readdirSync(`${cleo.state}/dead-letters`)
  expect(letter).toBe(`1-${bad}.json`)
  expect(JSON.parse(readFileSync(`${cleo.state}/dead-letters/${letter}`, 'utf8'))).toMatchObject({
    reason: 'exited with 3',
    attempts: 2,
    detail: 'why\n',
    event: { cursor: 1, message: { envelope: { body: 'bad' } } },
  })
  expect(cleo.cursor()).toBe(2)
})

test('runs nothing for strangers, for posts of boards that are not named, for senders not named with --verify, or for messages acknowledged by another program', async () => {
  const dan = await startListener('dan')
  await as('eve', 'keygen')
  await as('eve', 'register', 'eve')
  await quietly('eve', 'send', 'dan', 'run me')
  // Anybody can make dan a reader of a board.
  const board = await quietly('eve', 'boards', 'create', 'Trap')
  await quietly('eve', 'boards', 'role', board, 'dan', 'reader')
  await quietly('eve', 'send', `board:${board}`, 'run me')
  const done = await dan.send('done by hand')
  await quietly('dan', 'ack', done)
  const id = await dan.send('last')
  const run = dan.listen(['--exec', 'echo "$SVC_MESSAGE_ID" >> "$LOG"', '--verify', 'anna', '--count', '1'])
  expect(await run.ended).toBe(0)
  expect(dan.lines()).toEqual([id])
  await quietly('dan', 'contacts', 'accept', 'eve')
  const next = dan.listen(['--exec', 'echo "$SVC_MESSAGE_ID" >> "$LOG"', '--verify', 'anna', '--count', '1'])
  expect(await next.ended).toBe(0)
  expect(dan.lines()).toEqual([id])
  expect(await next.stderr).toContain('ignored, because its sender was not named')
})

test('runs for posts of the boards that are named, with the authority that this process uses', async () => {
  const kim = await startListener('kim')
  const boards = [await quietly('anna', 'boards', 'create', 'One'), await quietly('anna', 'boards', 'create', 'Two')]
  const posts: string[] = []
  for (const board of boards) {
    await quietly('kim', 'boards', 'subscribe', board)
    posts.push(await quietly('anna', 'send', `board:${board}`, 'news'))
  }
  const last = await kim.send('last')
  const command = 'echo "$SVC_MESSAGE_ID $SVC_VERIFIED $SVC_LANE $SVC_AUTHORITY" >> "$LOG"'
  const run = kim.listen(['--exec', command, '--board', boards[1] ?? '', '--verify', 'anna', '--count', '2'])
  expect(await run.ended).toBe(0)
  expect(kim.lines()).toEqual([`${posts[1]} 1 board ${system.authority}`, `${last} 1 inbox ${system.authority}`])
})

test('runs up to --jobs commands at a time, and the cursor waits for the slowest', { timeout: 120_000 }, async () => {
  const finn = await startListener('finn')
  for (const name of ['slow', 'a', 'b', 'c']) await finn.send(name)
  // The slow command waits for a file that the test creates. Every command writes a line when it starts.
  const command =
    'b=$(cat); echo "$b" >> "$LOG"; if [ "$b" = slow ]; then until [ -e "$LOG.go" ]; do sleep 0.05; done; fi'
  const run = finn.listen(['--exec', command, '--jobs', '2', '--count', '4'])
  await eventually(() => finn.lines().includes('c'))
  expect(finn.cursor()).toBe(0)
  writeFileSync(`${folder.path('finn.log')}.go`, '')
  expect(await run.ended).toBe(0)
  expect(finn.cursor()).toBe(4)
  expect(finn.lines().toSorted()).toEqual(['a', 'b', 'c', 'slow'])
})

test('an interrupt stops commands without counting their attempts, and the next listener continues', {
  timeout: 120_000,
}, async () => {
  const gina = await startListener('gina')
  const id = await gina.send('long')
  const long = gina.listen(['--exec', 'echo "$SVC_ATTEMPT" >> "$LOG"; sleep 600', '--attempts', '1'])
  await eventually(() => gina.lines().length === 1)
  const second = gina.listen(['--exec', 'true'])
  expect(await second.ended).toBe(2)
  expect(await second.stderr).toContain('already uses')
  long.child.kill('SIGTERM')
  expect(await long.ended).toBe(130)
  expect(gina.cursor()).toBe(0)
  expect(await gina.listen(['--exec', 'echo "$SVC_ATTEMPT" >> "$LOG"', '--count', '1']).ended).toBe(0)
  expect(gina.lines()).toEqual(['1', '1'])
  expect(await gina.receipts([id])).toEqual(['processed'])
})

test('a command that exceeds its timeout is killed with all processes that it started', {
  timeout: 120_000,
}, async () => {
  const hugo = await startListener('hugo')
  await hugo.send('x')
  const command = 'sh -c "echo \\$\\$ >> $LOG; sleep 600" & wait'
  const run = hugo.listen(['--exec', command, '--timeout', '1', '--attempts', '1', '--count', '1'])
  expect(await run.ended).toBe(0)
  const said = await run.stderr
  expect(said).toContain('took longer than 1 s')
  await eventually(() => !isAlive(Number(hugo.lines()[0])))
})

test('killed several times, it still finishes every message and post of the real system', {
  timeout: 300_000,
}, async () => {
  const ida = await startListener('ida')
  const board = await quietly('anna', 'boards', 'create', 'Ida')
  await quietly('ida', 'boards', 'subscribe', board)
  const ids = [
    await ida.send('one'),
    await quietly('anna', 'send', `board:${board}`, 'two'),
    await ida.send('three', '--seal'),
    await quietly('anna', 'send', `board:${board}`, 'four'),
  ]
  const args = ['--exec', 'echo "$SVC_MESSAGE_ID" >> "$LOG"', '--attempts', '100', '--board', board]
  // listen-killed.test.ts kills the process at every effect.
  for (const effects of [9, 13, 17, 21]) {
    const env = { SVC_TEST_KILL_AFTER: String(effects) }
    const run = ida.listen(args, { env, preload: ['--import', KILL_AFTER] })
    expect(await run.ended).toBe('SIGKILL')
  }
  const last = ida.listen(args)
  await eventually(() => existsSync(`${ida.state}/process/place`) && ida.cursor() === ids.length)
  last.child.kill('SIGTERM')
  expect(await last.ended).toBe(130)
  expect([...new Set(ida.lines())]).toEqual(ids)
  const [one = '', , three = ''] = ids
  expect(await ida.receipts([one, three])).toEqual(['processed', 'processed'])
})

describe('--forward', () => {
  test('posts the requests of the service’s webhook, signed, and retries them', { timeout: 120_000 }, async () => {
    const jane = await startListener('jane')
    const seen: string[] = []
    const deliveries = new Set<unknown>()
    let refused = false
    const secretFile = folder.path('jane.secret')
    const secret = `whsec_${'s'.repeat(32)}`
    writeFileSync(secretFile, secret)
    const handler = createWebhookHandler({
      secret,
      onMessage({ envelope }) {
        if (!refused) {
          refused = true
          throw new Error('not now')
        }
        seen.push(envelope.id)
      },
    })
    const server = createServer((request, response) => {
      deliveries.add(request.headers['x-svc-delivery-id']).add(request.headers['webhook-id'])
      void handler(request, response)
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    try {
      const id = await jane.send('hello')
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`
      const run = jane.listen(['--forward', url, '--secret-file', secretFile, '--count', '1'])
      expect(await run.ended).toBe(0)
      expect(seen).toEqual([id])
      expect(deliveries.size).toBe(1)
      expect(await run.stderr).toContain('answered 500 (attempt 1 of 5)')
      // The receiver acknowledges, as with a webhook.
      expect(await jane.receipts([id])).toEqual(['accepted'])
    } finally {
      server.closeAllConnections()
      server.close()
    }
  })

  test.each([
    [['--forward', 'nowhere'], 'is not a valid URL to forward to'],
    [['--forward', 'http://x', '--exec', 'true'], 'cannot be used with'],
    [['--exec', 'true', '--secret-file', 'x'], '--secret-file works only with --forward'],
    [['--exec', 'true', '--jobs', '0'], '--jobs'],
    [['--exec', 'true', '--lane', 'board'], 'with --board <id>'],
    [['--exec', 'true', '--board', 'x'], 'It must be the id of a board'],
  ])('%j is a usage error', async (args, sentence) => {
    expect(await as('anna', 'listen', ...args)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(sentence),
    })
  })
})

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
