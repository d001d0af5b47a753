import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { generateKey, parseKey } from '@svc/sdk/keys.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createCipher } from './cipher.ts'
import { CursorFile } from './cursor.ts'
import { makeOwnFolder } from './files.ts'
import { readOrMakeToken } from './http-token.ts'
import { readKeyFile, readOrMakeKeyFile } from './key-file.ts'
import { Lease, STALE_MS } from './lease.ts'
import { Marks } from './marks.ts'
import { SENT_BOUNDS, SentStore } from './sent.ts'

const run = promisify(execFile)
const PROCESSES = 4

let folder: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'svc-mcp-store-'))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** Makes every hard link fail, as on exFAT and Android. */
const NO_LINKS = `data:text/javascript,
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const refuse = () => { throw Object.assign(new Error('EPERM: operation not permitted, link'), { code: 'EPERM' }) };
  fs.linkSync = fs.link = fs.promises.link = refuse;
  syncBuiltinESMExports()`

/** Runs a script in several processes at once, on a file system without hard links. @returns the output of each. */
async function inProcesses(script: string): Promise<string[]> {
  const runs = Array.from({ length: PROCESSES }, (_, at) =>
    run(process.execPath, ['--import', NO_LINKS, '--input-type=module', '-e', script], {
      cwd: import.meta.dirname,
      env: { ...ENVIRONMENT, FOLDER: folder, AT: String(at) },
    }),
  )
  return (await Promise.all(runs)).map(({ stdout }) => stdout.trim())
}

describe('the key file', () => {
  test('several processes that start at once create one key, which only its owner can read', async () => {
    const ids = await inProcesses(
      `const { readOrMakeKeyFile } = await import('${new URL('key-file.ts', import.meta.url)}')
       console.log(readOrMakeKeyFile(process.env.FOLDER + '/key').agentId)`,
    )
    expect(new Set(ids).size).toBe(1)
    const path = join(folder, 'key')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(parseKey(readFileSync(path, 'utf8')).agentId).toBe(ids[0])
    expect(readdirSync(folder)).toEqual(['key'])
  })

  test('a file that a process left empty when it died is not taken for a key', () => {
    const path = join(folder, 'key')
    writeFileSync(path, '', { mode: 0o600 })
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(path, longAgo, longAgo)
    expect(() => readKeyFile(path)).toThrow('is not a key file')
    expect(readOrMakeKeyFile(path).agentId).toBe(readKeyFile(path).agentId)
    expect(readdirSync(folder)).toEqual(['key'])
  })

  test('is refused if it does not exist or others can read it', () => {
    const path = join(folder, 'key')
    expect(() => readKeyFile(path)).toThrow('--register')
    readOrMakeKeyFile(path)
    chmodSync(path, 0o644)
    expect(() => readKeyFile(path)).toThrow(/chmod 600/)
    expect(() => readOrMakeKeyFile(path)).toThrow(/chmod 600/)
  })
})

test('the cursor only moves forward, and is never torn when several processes move it', async () => {
  await inProcesses(
    `const { CursorFile } = await import('${new URL('cursor.ts', import.meta.url)}')
     const cursor = new CursorFile(process.env.FOLDER)
     for (let at = 1; at <= 200; at += 1) {
       cursor.advance(at)
       const read = cursor.read()
       if (!Number.isInteger(read) || read < 1 || read > 200) throw new Error('a broken cursor: ' + read)
     }`,
  )
  const cursor = new CursorFile(folder)
  expect(cursor.read()).toBeGreaterThanOrEqual(1)
  cursor.advance(200)
  cursor.advance(7)
  expect(cursor.read()).toBe(200)
  expect(readdirSync(folder)).toEqual(['cursor'])
})

describe('sent messages', () => {
  const record = {
    envelope: { id: 'my-message', from: 'a', to: 'b@c', type: 'event', ts: '', body: 1, sig: '' } as const,
    body: 'the secret text',
    fingerprint: 'print',
    composedAt: 1_000,
  }

  test('are stored encrypted, and only the key that wrote them can read them', () => {
    const key = generateKey()
    new SentStore(folder, createCipher(key)).save(record)
    const [name = ''] = readdirSync(join(folder, 'sent'))
    expect(readFileSync(join(folder, 'sent', name)).includes('secret')).toBe(false)
    expect(new SentStore(folder, createCipher(key)).find('my-message')).toEqual(record)
    expect(new SentStore(folder, createCipher(generateKey())).find('my-message')).toBeUndefined()
    expect(new SentStore(folder, createCipher(key)).find('another')).toBeUndefined()
  })

  test.each([
    ['for a day', undefined, 86_400],
    ['for a day at most', 100_000, 86_400],
    ['until they expire', 3_600, 3_600],
    ['for ten minutes at least', 2, 600],
  ])('are found by their content %s', (_, ttl, seconds) => {
    const store = new SentStore(folder, createCipher(generateKey()))
    const saved = { ...record, envelope: { ...record.envelope, ...(ttl === undefined ? {} : { ttl }) } }
    store.save(saved)
    expect(store.findRecent('print', 1_000 + seconds - 1)).toEqual(saved)
    expect(store.findRecent('print', 1_000 + seconds)).toBeUndefined()
    expect(store.findRecent('other', 1_000)).toBeUndefined()
  })

  test.each([
    ['too many', { messages: 2 }],
    ['too large together', { bytes: 520 }],
    ['too old', { days: 2 }],
  ])('the oldest are removed if they are %s', (_, bound) => {
    const cipher = createCipher(generateKey())
    const store = new SentStore(folder, cipher)
    for (const at of [0, 1, 2, 3]) {
      store.save({ ...record, envelope: { ...record.envelope, id: `message-${at}` }, fingerprint: `print-${at}` })
    }
    // Makes message 0 the oldest and message 3 the newest.
    for (const at of [0, 1, 2, 3]) {
      const written = Date.now() / 1000 - (3.5 - at) * 86_400
      utimesSync(join(folder, 'sent', hash('sha256', `message-${at}`).slice(0, 40)), written, written)
    }
    const bounded = new SentStore(folder, cipher, { ...SENT_BOUNDS, ...bound })
    const kept = [0, 1, 2, 3].filter((at) => bounded.find(`message-${at}`) !== undefined)
    expect(kept).toEqual([2, 3])
  })
})

test('a folder that others can write to is refused', () => {
  const path = join(folder, 'state')
  makeOwnFolder(path)
  expect(statSync(path).mode & 0o777).toBe(0o700)
  chmodSync(path, 0o755)
  expect(() => makeOwnFolder(path)).not.toThrow()
  chmodSync(path, 0o770)
  expect(() => makeOwnFolder(path)).toThrow('chmod 700')
})

test('several processes take turns to spend', async () => {
  const counter = join(folder, 'counter')
  writeFileSync(counter, '0')
  await inProcesses(
    `const { Turns } = await import('${new URL('turns.ts', import.meta.url)}')
     const { readFileSync, writeFileSync } = await import('node:fs')
     const turns = new Turns(process.env.FOLDER + '/turn')
     const path = process.env.FOLDER + '/counter'
     await Promise.all(Array.from({ length: 5 }, () => turns.runAlone(async () => {
       const seen = Number(readFileSync(path))
       await new Promise((resolve) => setTimeout(resolve, 5))
       writeFileSync(path, String(seen + 1))
     }, new AbortController().signal)))`,
  )
  expect(readFileSync(counter, 'utf8')).toBe(String(PROCESSES * 5))
  expect(readdirSync(folder)).toEqual(['counter'])
})

test('encrypted content is bound to its name and its key', () => {
  const cipher = createCipher(generateKey())
  const content = cipher.encrypt('a', 'text')
  expect(cipher.decrypt('a', content)).toBe('text')
  expect(cipher.decrypt('b', content)).toBeUndefined()
  expect(cipher.decrypt('a', content.subarray(0, 20))).toBeUndefined()
  content[content.length - 1] = (content.at(-1) ?? 0) ^ 1
  expect(cipher.decrypt('a', content)).toBeUndefined()
})

test('an approval is valid for every process', () => {
  new Marks(folder, 'approved').add('agent')
  new Marks(folder, 'approved').add('agent')
  expect(new Marks(folder, 'approved').has('agent')).toBe(true)
  expect(new Marks(folder, 'approved').has('other')).toBe(false)
  expect(new Marks(folder, 'used').has('agent')).toBe(false)
})

test('the token for HTTP is created once, and a short token is refused', () => {
  const path = join(folder, 'token')
  const token = readOrMakeToken(path)
  expect(token).toMatch(/^[0-9a-f]{64}$/)
  expect(readOrMakeToken(path)).toBe(token)
  expect(statSync(path).mode & 0o777).toBe(0o600)
  chmodSync(path, 0o640)
  expect(() => readOrMakeToken(path)).toThrow('chmod 600')
  const short = join(folder, 'short')
  writeFileSync(short, 'short', { mode: 0o600 })
  expect(() => readOrMakeToken(short)).toThrow('no valid token')
})

describe('the lease of the stream', () => {
  test('one process has it until it releases it', () => {
    const path = join(folder, 'lease')
    const [first, second] = [new Lease(path), new Lease(path)]
    expect([first.take(), first.take(), second.take()]).toEqual([true, true, false])
    second.release()
    expect(second.take()).toBe(false)
    first.release()
    expect(second.take()).toBe(true)
  })

  test('a timer that renews it survives the loss of the folder; a process that takes it gets the error', () => {
    const path = join(folder, 'inner', 'lease')
    const lease = new Lease(path)
    lease.take()
    rmSync(join(folder, 'inner'), { recursive: true })
    writeFileSync(join(folder, 'inner'), 'no folder')
    expect(lease.renew()).toBe(false)
    expect(() => lease.take()).toThrow(/cannot be created as a folder: /)
    expect(() => lease.release()).not.toThrow()
  })

  test('a holder that does not renew it loses it', () => {
    const path = join(folder, 'lease')
    const [first, second] = [new Lease(path), new Lease(path)]
    first.take()
    const longAgo = new Date(Date.now() - STALE_MS - 1_000)
    utimesSync(path, longAgo, longAgo)
    expect(second.take()).toBe(true)
    expect(first.take()).toBe(false)
  })

  test('of several processes that find it stale at the same time, one takes it over', async () => {
    const rounds = 20
    const wins = await inProcesses(`
      import { existsSync, utimesSync, writeFileSync } from 'node:fs'
      import { Lease } from './lease.ts'
      const { FOLDER, AT } = process.env
      const untilThere = (path) => { while (!existsSync(path)); }
      let wins = 0
      for (let round = 0; round < ${rounds}; round += 1) {
        const path = FOLDER + '/lease-' + round
        if (AT === '0') {
          writeFileSync(path, '4000000 mark')
          utimesSync(path, new Date(0), new Date(0))
        }
        writeFileSync(path + '-here-' + AT, '')
        for (let other = 0; other < ${PROCESSES}; other += 1) untilThere(path + '-here-' + other)
        if (new Lease(path).take()) wins += 1
        writeFileSync(path + '-done-' + AT, '')
        for (let other = 0; other < ${PROCESSES}; other += 1) untilThere(path + '-done-' + other)
      }
      console.log(wins)
    `)
    expect(wins.reduce((sum, won) => sum + Number(won), 0)).toBe(rounds)
  })

  test.each([
    ['keeps the lease if its process is alive', process.pid, false],
    ['loses the lease if its process is gone', 4_000_000, true],
  ])('a holder with a longer limit %s', (_, pid, isFree) => {
    const path = join(folder, 'lease')
    writeFileSync(path, `${pid} mark`)
    const longAgo = new Date(Date.now() - STALE_MS - 1_000)
    utimesSync(path, longAgo, longAgo)
    expect(new Lease(path, 10 * STALE_MS).take()).toBe(isFree)
  })
})
