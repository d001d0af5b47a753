/** The server while its files cannot be written, because the disk is full or its folder is gone. */
import { execFile } from 'node:child_process'
import { readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { registered, startService, uniqueName } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { expect, test } from 'vitest'
import { overStdio, temporaryFolder, textOf } from './scene.ts'
import { startStage } from './stage.ts'

const run = promisify(execFile)
const SVC = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))

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
    await using service = await startService()
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

test('if the folder disappears while it runs, tools report it, the server keeps running, and recovers with the folder', async () => {
  await using stack = new AsyncDisposableStack()
  const service = stack.use(await startService())
  const folder = stack.use(temporaryFolder())
  const own = uniqueName('alice')
  const [bob] = await registered(service, 'bob')
  const args = ['--key', folder.path('key'), '--url', service.url, '--register', own, '--allow-strangers']
  const alice = stack.use(await overStdio('stdio', args))
  await alice.call('whoami')
  const putBack = takeAway(folder.path('key.state'))
  await alice.client.subscribeResource({ uri: 'svc://inbox' })
  await bob.send({ to: own, body: 'hello' })
  for (const [name, args] of [
    ['send_message', { to: bob.name, body: 'x' }],
    ['wait_for_messages', { timeout_seconds: 1 }],
    ['create_board', { title: 'mine' }],
  ] as const) {
    expect(textOf(await alice.result(name, args)), name).toMatch(/^state_not_usable: .*Tell the person you work for/)
  }
  expect(await alice.call('whoami')).toMatchObject({ name: own })
  putBack()
  expect(await alice.call('wait_for_messages', { timeout_seconds: 30 })).toMatchObject({ messages: [{}] })
  expect(await alice.call('send_message', { to: bob.name, body: 'x' })).toMatchObject({ status: 'accepted' })
})

test('an accepted message is reported as accepted, even if nothing can be stored afterwards', async () => {
  await using stack = new AsyncDisposableStack()
  const stage = stack.use(await startStage())
  const { service } = stage
  const [bob] = await registered(service, 'bob')
  const alice = await stage.serve(stack, { policy: { askStrangers: false } })
  // Between the two attempts there is time to remove the folder.
  service.meet('POST /v2/messages', { kind: 'refuse', code: 'unavailable', retryAfterSeconds: 2 })
  const sent = alice.result('send_message', { to: bob.name, body: 'x' })
  await eventually(async () => service.requests.some(({ target }) => target === '/v2/messages'))
  const putBack = takeAway(alice.path('key.state'))
  expect((await sent).structuredContent).toMatchObject({ status: 'accepted' })
  putBack()
})
