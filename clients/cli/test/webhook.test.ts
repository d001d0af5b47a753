import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { standardWebhookKey } from '@svc/svc1/webhook-key.ts'
import { describe, expect, test } from 'vitest'
import { startScene } from './scene.ts'

const URL = 'https://bob.example/svc'

type Scene = Awaited<ReturnType<typeof startScene>>

function secretsSent({ service }: Scene): unknown[] {
  return service.requests.filter(({ method }) => method === 'PUT').map(({ body }) => JSON.parse(body).secret)
}

test('the main commands, as a table', async () => {
  await using scene = await startScene('bob')
  const file = scene.folder.path('bob.secret')
  const set = await scene.as('bob', `webhook set ${URL} --secret-file ${file}`)
  expect(set).toMatchObject({ exitCode: 0, stdout: `url      ${URL}\npending  0\nfailed   0\n` })
  expect(set.stderr).toBe(`wrote a new secret to ${file}\n`)
  expect(await scene.as('bob', 'webhook show')).toMatchObject({ exitCode: 0, stdout: set.stdout, stderr: '' })
  expect(await scene.as('bob', 'webhook')).toMatchObject({ exitCode: 0, stdout: set.stdout })
  expect(await scene.as('bob', 'webhook delete')).toMatchObject({ exitCode: 0, stdout: 'deleted\n' })
  for (const command of ['webhook show', 'webhook delete']) {
    const run = await scene.as('bob', command)
    expect(run).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining('(not_found)') })
  }
})

test('--json prints only the answers of the API to stdout', async () => {
  await using scene = await startScene('bob')
  const state = { url: URL, pending: 0, failed: 0 }
  const file = scene.folder.path('bob.secret')
  writeFileSync(file, 's'.repeat(32))
  const commands: [string, object][] = [
    [`webhook set ${URL} --secret-file ${file} --json`, state],
    ['webhook show --json', state],
    ['webhook delete --json', { status: 'deleted' }],
  ]
  for (const [command, expected] of commands) {
    const run = await scene.as('bob', command)
    expect({ command, exitCode: run.exitCode, stderr: run.stderr }).toEqual({ command, exitCode: 0, stderr: '' })
    expect(run.documents()).toMatchObject([expected])
  }
})

describe('the secret', () => {
  test('with --secret-file, is created once with 256 bits, readable only by its owner, and never printed', async () => {
    await using scene = await startScene('bob')
    const file = scene.folder.path('bob.secret')
    const runs = [1, 2].map(() => `webhook set ${URL} --secret-file ${file}`)
    const printed: string[] = []
    for (const command of runs) {
      const { stdout, stderr } = await scene.as('bob', command)
      printed.push(stdout, stderr)
    }
    const secret = readFileSync(file, 'utf8').trimEnd()
    expect(standardWebhookKey(secret)).toHaveLength(32)
    if (process.platform !== 'win32') expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(secretsSent(scene)).toEqual([secret, secret])
    expect(printed.join('')).not.toContain(secret)
  })

  test('without --secret-file, is new each time, in the form of Standard Webhooks, and printed once', async () => {
    await using scene = await startScene('bob')
    const shown = await scene.as('bob', `webhook set ${URL}`)
    const [, secret = ''] = /^secret {3}(\S+)$/m.exec(shown.stdout) ?? []
    expect(standardWebhookKey(secret)).toHaveLength(32)
    const [json] = (await scene.as('bob', `webhook set ${URL} --json`)).documents()
    expect(json).toMatchObject({ url: URL, secret: expect.stringMatching(/^whsec_/) })
    const quiet = await scene.as('bob', `webhook set ${URL} --quiet`)
    expect(secretsSent(scene)).toEqual([secret, json?.secret, quiet.stdout.trimEnd()])
    expect(new Set(secretsSent(scene)).size).toBe(3)
    expect((await scene.as('bob', 'webhook show')).stdout).not.toContain('secret')
  })

  test.each([
    ['no line feed at its end', 'ü'.repeat(32), 'ü'.repeat(32)],
    ['a line feed at its end', `${'s'.repeat(32)}\n`, 's'.repeat(32)],
    ['a Windows line end', `${'s'.repeat(32)}\r\n`, 's'.repeat(32)],
    ['white space that belongs to the secret', ` ${'s'.repeat(32)} \n\n`, ` ${'s'.repeat(32)} \n`],
  ])('is the text of a file with %s', async (_, text, secret) => {
    await using scene = await startScene('bob')
    const file = scene.folder.path('secret')
    writeFileSync(file, text)
    expect((await scene.as('bob', `webhook set ${URL} --secret-file ${file}`)).exitCode).toBe(0)
    expect(secretsSent(scene)).toEqual([secret])
  })

  test.each([
    ['the file is a folder', `webhook set ${URL} --secret-file FOLDER`],
    ['the URL is missing', 'webhook set --secret-file FOLDER'],
  ])('nothing is sent if %s', async (_, command) => {
    await using scene = await startScene('bob')
    const folder = scene.folder.path('folder')
    mkdirSync(folder)
    const run = await scene.as('bob', command.replace('FOLDER', folder))
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(secretsSent(scene)).toEqual([])
  })
})

test('a refusal exits with 1, and a lost answer exits with 3', async () => {
  await using scene = await startScene('bob')
  const set = `webhook set http://bob.example/ --secret-file ${scene.folder.path('bob.secret')}`
  expect(await scene.as('bob', set)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('(invalid_webhook_url)'),
  })
  scene.service.meet('PUT /v2/webhook', { kind: 'lose' })
  expect((await scene.as('bob', set.replace('http:', 'https:'))).exitCode).toBe(3)
  expect((await scene.as('bob', 'webhook show --json')).documents()).toMatchObject([{ url: 'https://bob.example/' }])
})
