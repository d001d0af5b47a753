/** The server while its files cannot be written, because the disk is full or its folder is gone. */
import { execFile } from 'node:child_process'
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { registered } from '@svc/sdk/test/agents.ts'
import { startFakeService } from '@svc/sdk/test/fake-service.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { expect, test } from 'vitest'
import { createLog } from '../src/log.ts'
import { openMailbox } from '../src/startup/start.ts'
import { serveOverHttp } from '../src/transports/http.ts'
import { overHttp, overStdio, temporaryFolder, textOf } from './scene.ts'

const run = promisify(execFile)
const SVC = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const TOKEN = 'a-token-of-thirty-two-characters!!'

/**
 * Puts a file in the place of a folder.
 * @returns a function that restores the folder.
 */
function takeAway(folder: string): () => void {
  renameSync(folder, `${folder}.away`)
  writeFileSync(folder, '')
  return () => {
    rmSync(folder)
    renameSync(`${folder}.away`, folder)
  }
}

test.runIf(process.platform !== 'win32')(
  'on a full disk it does not start, reports why, and leaves nothing',
  async () => {
    await using service = await startFakeService()
    using folder = temporaryFolder()
    const args = ['mcp', '--key', folder.path('key'), '--url', service.url, '--register', 'alice']
    const command = 'ulimit -f 0 && exec "$0" "$@" < /dev/null'
    const started = run('bash', ['--norc', '-c', command, process.execPath, SVC, ...args], { env: ENVIRONMENT })
    await expect(started).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^svc: .*key cannot be written: file too large\n$/),
    })
    expect(readdirSync(folder.path('.'))).toEqual([])
  },
)

test('if the folder disappears while it runs, tools report it, the server keeps running, and recovers with the folder', {
  timeout: 60_000,
}, async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startFakeService())
  const folder = stack.use(temporaryFolder())
  const [bob] = await registered(service, 'bob')
  const args = ['--key', folder.path('key'), '--url', service.url, '--register', 'alice', '--allow-strangers']
  const alice = stack.use(await overStdio('stdio', args))
  await alice.call('whoami')
  const putBack = takeAway(folder.path('key.state'))
  await alice.client.subscribeResource({ uri: 'svc://inbox' })
  await bob.send({ to: 'alice', body: 'hello' })
  for (const [name, args] of [
    ['send_message', { to: 'bob', body: 'x' }],
    ['wait_for_messages', { timeout_seconds: 1 }],
    ['create_board', { title: 'mine' }],
  ] as const) {
    expect(textOf(await alice.result(name, args)), name).toMatch(/^state_not_usable: .*Tell the person you work for/)
  }
  expect(await alice.call('whoami')).toMatchObject({ name: 'alice' })
  putBack()
  expect(await alice.call('wait_for_messages', { timeout_seconds: 30 })).toMatchObject({ messages: [{}] })
  expect(await alice.call('send_message', { to: 'bob', body: 'x' })).toMatchObject({ status: 'accepted' })
})

test('an accepted message is reported as accepted, even if nothing can be stored afterwards', async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startFakeService())
  const folder = stack.use(temporaryFolder())
  await registered(service, 'bob')
  const limits = {
    readOnly: false,
    contactsOnly: false,
    requireVerified: false,
    maxUnits: 10,
    maxDailyUnits: undefined,
  }
  const policy = { ...limits, askStrangers: false }
  const options = { url: service.url, keyPath: folder.path('key'), register: 'alice', policy }
  const mailbox = stack.use(await openMailbox(options, createLog(new PassThrough().resume())))
  const face = stack.use(await serveOverHttp(mailbox, { port: 0, token: TOKEN }))
  const alice = stack.use(await overHttp('http 2026', face.url, TOKEN))
  // Between the two attempts there is time to remove the folder.
  service.meet('POST /v2/messages', { kind: 'refuse', code: 'unavailable', retryAfterSeconds: 2 })
  const sent = alice.result('send_message', { to: 'bob', body: 'x' })
  await eventually(async () => service.requests.some(({ target }) => target === '/v2/messages'))
  const putBack = takeAway(folder.path('key.state'))
  expect((await sent).structuredContent).toMatchObject({ status: 'accepted' })
  putBack()
})
