import { writeFileSync } from 'node:fs'
import { generateKey } from '@svc/sdk/keys.ts'
import { clientOf } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test, vi } from 'vitest'
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
    ['send alice --json-body {', {}, '--json-body: the body is not I-JSON: not JSON'],
    ['send alice --json-body {"id":1000000000000000000000001}', {}, 'body.id is an integer of more than 53 bits'],
    ['send alice --json-body -', { stdin: '{"a":1,"a":2}' }, 'not I-JSON'],
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
    const { raw } = await scene.as('alice', 'send alice once --print')
    writeFileSync(scene.folder.path('once.json'), raw)
    const first = await scene.as('alice', `post ${scene.folder.path('once.json')} --json`)
    const again = await scene.as('alice', 'post - --json', { stdin: raw })
    expect(first.documents()).toMatchObject([{ duplicate: false }])
    expect(again.documents()).toMatchObject([{ duplicate: true }])
  })

  test.each([
    [
      '{"id":"12345678","body":{"n":[1000000000000000000000001]}}',
      'envelope.body.n[0] is an integer of more than 53 bits',
    ],
    ['{"id":"12345678","body":{"n":1,"n":2}}', 'the envelope is not I-JSON: duplicate member names'],
    ['{', 'the envelope is not I-JSON'],
    ['null', 'it is no envelope'],
  ])('svc post refuses %s before anything is signed', async (text, problem) => {
    await using scene = await startScene('alice')
    const before = scene.service.requests.length
    const run = await scene.as('alice', 'post -', { stdin: text })
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(`svc: -: ${problem}`) })
    expect(scene.service.requests).toHaveLength(before)
  })

  test('spec 13.3: with a wrong clock, the message is signed again with the time of the service, and a warning says so', async () => {
    await using scene = await startScene('alice')
    using clock = vi.spyOn(Date, 'now')
    const right = performance.timeOrigin
    clock.mockImplementation(() => right + performance.now() - 3_600_000)
    const run = await scene.as('alice', 'send alice hello')
    expect(run).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^accepted: /) })
    expect(run.stderr).toMatch(/^warning: this machine's clock is 3(?:599|600|601) s behind the service's: .*\n$/)
  })

  test.each(['No Body', 'bob@elsewhere.example'])(
    'spec 6.2: the mistyped recipient %s gives the error of the SDK, sealed or not',
    async (to) => {
      await using scene = await startScene('alice')
      const client = clientOf(scene.service, { key: generateKey(), name: 'alice' })
      const { code } = await client.send({ to, body: 'hello' }, { seal: true }).catch((error) => error)
      for (const options of [['--json'], ['--json', '--seal']]) {
        const { exitCode, stderr } = await scene.as('alice', 'send', { rest: [to, 'hello', ...options] })
        expect([exitCode, JSON.parse(stderr).error.code]).toEqual([1, code])
      }
    },
  )

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

describe('without an answer', () => {
  const four = <T>(fault: T): T[] => Array.from({ length: 4 }, () => fault)

  test.each(['', ' --seal'])(
    'the message is kept, and svc send --repeat%s finds out that it was accepted',
    async (seal) => {
      await using scene = await startScene('alice')
      scene.service.meet('POST /v2/messages', ...four({ kind: 'lose' } as const))
      const run = await scene.as('alice', `send alice once${seal}`)
      expect(run).toMatchObject({ exitCode: 3, stdout: '' })
      const [, id, command] =
        /the message (\w+) was accepted; to send it safely again: svc (.*)\n$/.exec(run.stderr) ?? []
      expect(command).toBe(`send --repeat ${id} --key ${scene.key('alice')} --url ${scene.service.url}`)
      const again = await scene.as('alice', `send --repeat ${id} --json`)
      expect(again.documents()).toMatchObject([{ msg_id: id, duplicate: true }])
      expect((await scene.as('alice', 'inbox --quiet')).stdout).toBe(`${id}\n`)
      expect(await scene.as('alice', `send --repeat ${id}`)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringContaining(`no message ${id} is kept`),
      })
    },
  )

  test.each(['', ' --seal', ' --ttl 60'])(
    'a message that was never accepted%s is signed again under the same id',
    async (option) => {
      await using scene = await startScene('alice', 'bob')
      scene.service.meet('POST /v2/messages', ...four({ kind: 'cut' } as const))
      const run = await scene.as('alice', `send bob once --json${option}`)
      expect(run).toMatchObject({ exitCode: 3, stdout: '' })
      const { error } = JSON.parse(run.stderr) as { error: Record<string, string> }
      expect(error).toMatchObject({
        code: 'no_answer',
        repeat: expect.stringContaining(`svc send --repeat ${error.msg_id}`),
      })
      scene.service.meet('POST /v2/messages', { kind: 'refuse', code: 'envelope_timestamp_out_of_range' })
      const again = await scene.as('alice', `send --repeat ${error.msg_id} --json`)
      expect(again.documents()).toMatchObject([{ msg_id: error.msg_id, duplicate: false }])
      expect((await scene.as('bob', `read ${error.msg_id}`)).stdout).toContain('| once')
    },
  )

  test('a message that the service refuses is not kept, and one that it did not look at is', async () => {
    await using scene = await startScene('alice')
    const kept = async () =>
      /none is kept|kept are/.exec((await scene.as('alice', 'send --repeat 12345678')).stderr)?.[0]
    expect((await scene.as('alice', 'send nobody hello')).exitCode).toBe(1)
    expect(await kept()).toBe('none is kept')
    scene.service.meet('POST /v2/messages', ...four({ kind: 'refuse', code: 'unavailable' } as const))
    const run = await scene.as('alice', 'send alice hello')
    expect(run).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('svc send --repeat') })
    expect(await kept()).toBe('kept are')
  })

  test.each(['internal', 'unavailable', 'rate_limited'] as const)(
    'spec 13.2: if the last answer is %s, the outcome is unknown, and the exit code is 3',
    async (code) => {
      await using scene = await startScene('alice')
      scene.service.meet('POST /v2/messages', { kind: 'lose' }, ...four({ kind: 'refuse', code } as const))
      const run = await scene.as('alice', 'send alice once --json')
      expect(run).toMatchObject({ exitCode: 3, stdout: '' })
      const { error } = JSON.parse(run.stderr) as { error: Record<string, string> }
      expect(error).toMatchObject({ code, repeat: expect.stringContaining(`svc send --repeat ${error.msg_id}`) })
    },
  )

  test.each([
    ['send alice hello', 'GET /v2/me'],
    ['send alice hello --seal', 'GET /v2/agents/alice'],
    ['send --repeat 12345678', 'GET /.well-known/agent.json'],
  ])('to what svc %s asks before it sends, it says that nothing was sent', async (command, request) => {
    await using scene = await startScene('alice')
    for (const fault of [{ kind: 'cut' }, { kind: 'refuse', code: 'unavailable' }] as const) {
      const exitCode = fault.kind === 'cut' ? 3 : 1
      scene.service.meet(request, ...four(fault))
      const run = await scene.as('alice', command)
      expect(run).toMatchObject({ exitCode, stdout: '', stderr: expect.stringMatching(/; nothing was sent\n$/) })
      scene.service.meet(request, ...four(fault))
      const json = await scene.as('alice', `${command} --json`)
      expect(json).toMatchObject({ exitCode, stdout: '' })
      expect(JSON.parse(json.stderr).error.message).toMatch(/; nothing was sent$/)
    }
  })

  test.each([false, true])('an interrupt says how to repeat the message, in JSON: %s', async (isJson) => {
    await using scene = await startScene('alice')
    scene.service.meet('POST /v2/messages', { kind: 'hang' })
    const stop = new AbortController()
    const run = scene.as('alice', `send alice once${isJson ? ' --json' : ''}`, { signal: stop.signal })
    await eventually(() => scene.service.requests.some(({ target }) => target === '/v2/messages'))
    stop.abort()
    const { exitCode, stderr } = await run
    expect(exitCode).toBe(130)
    if (isJson) expect(JSON.parse(stderr).error).toMatchObject({ code: 'interrupted', msg_id: expect.any(String) })
    const id = /svc send --repeat (\w+)/.exec(stderr)?.[1]
    expect((await scene.as('alice', `send --repeat ${id}`)).stdout).toContain(`accepted: ${id}`)
  })

  test.each(['send', 'send --repeat 12345678 bob'])('svc %s is a usage error', async (command) => {
    await using scene = await startScene('alice')
    expect((await scene.as('alice', command)).exitCode).toBe(2)
  })
})

describe('send --accept-replies', () => {
  test('accepts the recipient first, once, and svc contacts lists that and takes it back', async () => {
    await using scene = await startScene('alice', 'bob')
    const sent = await scene.as('alice', 'send bob hello --accept-replies')
    expect(sent).toMatchObject({
      exitCode: 0,
      stderr: 'accepted bob, for 1 unit; svc contacts remove bob takes it back\n',
    })
    const calls = scene.service.requests.filter(({ method }) => method !== 'GET').map(({ target }) => target)
    expect(calls.slice(-2)).toEqual([expect.stringMatching('^/v2/contacts/'), '/v2/messages'])
    await scene.as('bob', 'contacts accept alice')
    expect((await scene.as('alice', 'send bob again --accept-replies')).stderr).toBe('')
    await scene.as('bob', 'send alice answer')
    expect((await scene.as('alice', 'inbox')).stdout).toContain('| answer')
    expect((await scene.as('alice', 'contacts')).stdout).toMatch(
      /^\w+ {2}accepted {2}bob {2}\(accepted with --accept-replies\)\n$/,
    )
    await scene.as('alice', 'contacts remove bob')
    expect((await scene.as('alice', 'contacts')).stdout).toBe('')
  })

  test('never changes a block', async () => {
    await using scene = await startScene('alice', 'bob')
    await scene.as('alice', 'contacts block bob')
    const sent = await scene.as('alice', 'send bob hello --accept-replies')
    expect(sent).toMatchObject({ exitCode: 0, stderr: 'bob stays blocked, so its answers are refused\n' })
    expect((await scene.as('alice', 'contacts')).stdout).toMatch(/^\w+ {2}blocked {2}bob\n$/)
  })
})
