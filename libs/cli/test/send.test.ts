import { writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import type { RunOptions } from './run.ts'
import { idOf, startScene } from './scene.ts'

describe('send', () => {
  test('takes text, JSON and standard input', async () => {
    await using scene = await startScene('alice')
    const ways: [string, RunOptions & { rest?: string[] }, unknown][] = [
      ['send alice hello', {}, 'hello'],
      ['send alice', { rest: ['{"not":"json"}'] }, '{"not":"json"}'],
      ['send alice --json-body', { rest: ['{"a":[1,null]}'] }, { a: [1, null] }],
      ['send alice --json-body -', { stdin: '[1, 2]\n' }, [1, 2]],
      ['send alice', { stdin: 'two\nlines\n' }, 'two\nlines'],
      ['send alice -', { stdin: 'ü' }, 'ü'],
    ]
    for (const [command, options, body] of ways) {
      const id = await idOf(scene.as('alice', `${command}`, { ...options, rest: [...(options.rest ?? []), '--json'] }))
      const read = await scene.as('alice', `read ${id} --json`)
      expect(read.documents(), command).toMatchObject([{ envelope: { body } }])
    }
  })

  test('takes all options', async () => {
    await using scene = await startScene('alice')
    const root = await idOf(scene.as('alice', 'send alice one --json'))
    const id = await idOf(
      scene.as('alice', `send alice two --type response --reply-to ${root} --thread ${root} --ttl 60 --json`),
    )
    const { documents } = await scene.as('alice', `inbox --thread ${root} --json`)
    const reply = { id, type: 'response', reply_to: root, thread_id: root, ttl: 60 }
    expect(documents()).toMatchObject([{ envelope: { id: root, type: 'event' } }, { envelope: reply }])
  })

  test.each([
    ['send alice', { terminal: true }, 'no text: svc send <to> <text>'],
    ['send alice text --json-body 1', {}, 'use either a text or --json-body'],
    ['send alice --json-body {', {}, 'not JSON'],
    ['send alice text --ttl -1', {}, '--ttl'],
    ['send alice text --type shout', {}, '--type'],
    ['send alice text --seal-for ed25519:00', {}, 'public key'],
    ['send alice', { stdin: Buffer.from([0xff, 0xfe]) }, 'UTF-8'],
    ['send alice', { stdin: 'x'.repeat(1024 * 1024 + 1) }, '1 MiB'],
  ] satisfies [string, RunOptions, string][])(
    '%s is a usage error, and sends nothing',
    async (command, options, sentence) => {
      await using scene = await startScene('alice')
      const before = scene.service.requests.filter(({ method }) => method === 'POST').length
      const run = await scene.as('alice', command, options)
      expect(run).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(sentence) })
      expect(scene.service.requests.filter(({ method }) => method === 'POST')).toHaveLength(before)
    },
  )

  test('--print prints an envelope, and repeated svc post sends it once', async () => {
    await using scene = await startScene('alice')
    const { stdout } = await scene.as('alice', 'send alice once --print')
    writeFileSync(scene.folder.path('once.json'), stdout)
    const first = await scene.as('alice', `post ${scene.folder.path('once.json')} --json`)
    const again = await scene.as('alice', 'post - --json', { stdin: stdout })
    expect(first.documents()).toMatchObject([{ duplicate: false }])
    expect(again.documents()).toMatchObject([{ duplicate: true }])
  })

  test('spec 13.3: with a wrong clock, the message is signed again with the time of the service, and a warning says so', async () => {
    await using scene = await startScene('alice')
    scene.service.clockOffsetMs = 3_600_000
    const run = await scene.as('alice', 'send alice hello')
    expect(run).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^accepted: /) })
    expect(run.stderr).toMatch(/^warning: this machine's clock is 3600 s behind the service's: .*\n$/)
  })

  test('without an answer, the error says how to check the outcome', async () => {
    await using scene = await startScene('alice')
    scene.service.meet('POST /v2/messages', ...Array.from({ length: 4 }, () => ({ kind: 'lose' }) as const))
    const run = await scene.as('alice', 'send alice once')
    expect(run.exitCode).toBe(3)
    const id = /svc receipt (\S+)/.exec(run.stderr)?.[1] ?? ''
    expect((await scene.as('alice', `receipt ${id} --json`)).documents()).toMatchObject([{ status: 'accepted' }])
  })

  test('to a stranger, the output says that the message waits', async () => {
    await using scene = await startScene('alice', 'bob')
    expect((await scene.as('alice', 'send bob hello')).stdout).toContain('until the recipient accepts you')
    const second = await scene.as('alice', 'send bob again')
    expect(second).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(request_pending)') })
    expect((await scene.as('bob', 'inbox')).stdout).toBe('')
    expect((await scene.as('bob', 'inbox --requests')).stdout).toContain('hello')
    await scene.as('bob', 'contacts accept alice')
    expect((await scene.as('bob', 'inbox')).stdout).toContain('hello')
  })
})
