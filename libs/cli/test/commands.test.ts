import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { PassThrough } from 'node:stream'
import { type FakeService, startFakeService } from '@svc/sdk/test/fake-service.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { describe, expect, test } from 'vitest'
import { type Run, type RunOptions, svc, temporaryFolder } from './run.ts'

/** A service, a folder, and registered agents whose keys lie in it as `<name>.key`. */
async function startScene(...names: string[]) {
  const folder = temporaryFolder()
  const service = await startFakeService()
  const scene = {
    service,
    folder,
    key: (name: string) => folder.path(`${name}.key`),
    /** Runs a command as one of the agents. */
    as: (name: string, args: string, options: RunOptions & { rest?: string[] } = {}): Promise<Run> =>
      svc(['--key', scene.key(name), '--url', service.url, ...args.split(' '), ...(options.rest ?? [])], options),
    async [Symbol.asyncDispose]() {
      folder[Symbol.dispose]()
      await service[Symbol.asyncDispose]()
    },
  }
  for (const name of names) {
    await svc(['keygen', '--key', scene.key(name)])
    expect(await scene.as(name, `register ${name}`)).toMatchObject({ exitCode: 0 })
  }
  return scene
}

async function idOf(run: Promise<Run>): Promise<string> {
  const { exitCode, stderr, documents } = await run
  expect({ exitCode, stderr }).toMatchObject({ exitCode: 0 })
  return String(documents()[0]?.msg_id)
}

test('the main job, in words', async () => {
  await using scene = await startScene('alice', 'bob')
  expect(await scene.as('bob', 'contacts accept alice')).toMatchObject({ exitCode: 0, stdout: 'accepted alice\n' })

  const sent = await scene.as('alice', 'send bob', { rest: ['hello, bob'] })
  expect(sent.stdout).toMatch(/^accepted: [0-9a-f]{32} \(inbox\)\n$/)
  const id = /accepted: (\S+)/.exec(sent.stdout)?.[1] ?? ''
  expect((await scene.as('alice', 'send bob --seal secret')).exitCode).toBe(0)

  const inbox = await scene.as('bob', 'inbox')
  expect(inbox.stdout).toContain(`${id}  `)
  expect(inbox.stdout).toContain('\n    hello, bob\n')
  expect(inbox.stdout).toContain('[sealed: --open, or svc read]')
  expect(inbox.stdout).not.toContain('secret')

  const opened = await scene.as('bob', 'inbox --open --verify alice')
  expect(opened.stdout).toContain('from alice\n    [signed, signature verified]\n    hello, bob\n')
  expect(opened.stdout).toContain('from alice\n    [sealed, signature verified]\n    secret\n')

  expect((await scene.as('alice', `receipt ${id}`)).stdout).toMatch(/^accepted \(/)
  expect(await scene.as('bob', `ack ${id}`)).toMatchObject({ exitCode: 0, stdout: `acknowledged ${id}\n` })
  expect((await scene.as('alice', `receipt ${id}`)).stdout).toMatch(/^processed \(/)
  expect((await scene.as('alice', 'budget')).stdout).toContain('2 of 100 free, 1000 at most')
  expect((await scene.as('bob', 'inbox --unacked')).stdout).not.toContain(id)
})

describe('--json', () => {
  test('gives the answers of the API, one document per line, and nothing else on stdout', async () => {
    await using scene = await startScene('alice', 'bob')
    const id = await idOf(scene.as('alice', 'send bob hello --json'))
    const commands: [string, string, object][] = [
      ['alice', 'key show --json', { agent_id: expect.any(String), pubkey: expect.stringMatching(/^ed25519:/) }],
      ['alice', 'register alice --json', { address: `alice@${scene.service.authority}` }],
      ['alice', 'whoami --json', { inbox_policy: 'requests', agent: { name: 'alice' } }],
      ['alice', 'lookup bob --json', { name: 'bob' }],
      ['alice', 'budget --json', { used_units: 1 }],
      ['alice', `receipt ${id} --json`, { msg_id: id, status: 'accepted' }],
      ['alice', 'health --json', { status: 'ok' }],
      ['bob', 'inbox --requests --json', { envelope: { id, body: 'hello' } }],
      ['bob', `read ${id} --json`, { envelope: { id }, opened: { body: 'hello', verified: false, sealed: false } }],
      ['bob', 'events --json', { cursor: 1, kind: 'requests', message: { envelope: { id } } }],
      ['bob', `ack ${id} --json`, { msg_id: id, status: 'acked' }],
      ['bob', 'export --json', { envelope: { id } }],
      ['bob', 'policy open --json', { inbox_policy: 'open' }],
      ['bob', 'discoverable on --json', { discoverable: true }],
      ['bob', 'agents --json', { name: 'bob' }],
      ['bob', 'contacts block alice --json', { state: 'blocked' }],
      ['bob', 'contacts --json', { state: 'blocked' }],
      ['bob', 'revoke --yes --json', { status: 'revoked' }],
    ]
    for (const [name, command, expected] of commands) {
      const run = await scene.as(name, command)
      expect({ command, exitCode: run.exitCode, stderr: run.stderr }).toEqual({ command, exitCode: 0, stderr: '' })
      expect(run.documents(), command).toMatchObject([expected])
    }
  })

  test('gives failures as a document on stderr', async () => {
    await using scene = await startScene('alice')
    const run = await scene.as('alice', 'send nobody hello --json')
    expect(run).toMatchObject({ exitCode: 1, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({
      error: {
        code: 'recipient_unavailable',
        message: expect.any(String),
        status: 404,
        request_id: expect.any(String),
      },
    })
  })

  test('an empty list is no document', async () => {
    await using scene = await startScene('alice')
    expect(await scene.as('alice', 'inbox --json')).toMatchObject({ exitCode: 0, stdout: '', stderr: 'nothing here\n' })
  })
})

describe('key files', () => {
  test('are made for their owner alone, and never overwritten', async () => {
    using folder = temporaryFolder()
    const path = folder.path('a.key')
    expect((await svc(['keygen', '--key', path])).exitCode).toBe(0)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const before = readFileSync(path, 'utf8')
    const again = await svc(['keygen', '--key', path])
    expect(again).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: `svc: ${path} is there already, and is not overwritten\n`,
    })
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('the secret is not shown by keygen', async () => {
    using folder = temporaryFolder()
    const { stdout, stderr } = await svc(['keygen', '--key', folder.path('a.key'), '--json'])
    const { seed } = JSON.parse(readFileSync(folder.path('a.key'), 'utf8')) as { seed: string }
    expect(stdout + stderr).not.toContain(seed)
  })

  test.runIf(process.platform !== 'win32')('that others can read are warned of, and used', async () => {
    using folder = temporaryFolder()
    const path = folder.path('a.key')
    await svc(['keygen', '--key', path])
    expect((await svc(['key', 'show', '--key', path])).stderr).toBe('')
    chmodSync(path, 0o640)
    const { exitCode, stderr } = await svc(['key', 'show', '--key', path])
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`others can read ${path}`)
  })

  test('are named by --key, else by SVC_KEY', async () => {
    using folder = temporaryFolder()
    for (const name of ['a', 'b']) await svc(['keygen', '--key', folder.path(name)])
    const show = (args: string[], env: NodeJS.ProcessEnv) => svc(['key', 'show', ...args], { env })
    const a = await show(['--key', folder.path('a')], { SVC_KEY: folder.path('b') })
    const b = await show([], { SVC_KEY: folder.path('b') })
    expect(a.stdout).not.toBe(b.stdout)
    expect(b.exitCode).toBe(0)
    expect(await show([], { SVC_KEY: '' })).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no key') })
  })

  test.each([
    ['an absent file', undefined, 'svc keygen --key'],
    ['a file that is no key', 'hello', 'not a key file'],
    ['half a key', '{"algorithm":"ed25519","agent_id":"4vJ', 'not a key file'],
  ])('%s is one clear sentence', async (_, text, sentence) => {
    using folder = temporaryFolder()
    if (text !== undefined) writeFileSync(folder.path('a.key'), text)
    const run = await svc(['whoami', '--key', folder.path('a.key')])
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(run.stderr).toContain(sentence)
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  test('go to PEM and hex and come back the same', async () => {
    using folder = temporaryFolder()
    const at = (name: string) => folder.path(name)
    const { stdout: shown } = await svc(['keygen', '--key', at('a.key')])
    expect((await svc(['key', 'export', '--pem', '--out', at('a.pem'), '--key', at('a.key')])).exitCode).toBe(0)
    expect(statSync(at('a.pem')).mode & 0o777).toBe(0o600)
    const { stdout: seed } = await svc(['key', 'export', '--seed', '--key', at('a.key')])
    await svc(['key', 'import', at('a.pem'), '--key', at('b.key')])
    await svc(['key', 'import', '-', '--key', at('c.key')], { stdin: seed })
    await svc(['key', 'import', at('a.key'), '--key', at('d.key')])
    const original = readFileSync(at('a.key'), 'utf8')
    for (const name of ['b.key', 'c.key', 'd.key']) expect(readFileSync(at(name), 'utf8')).toBe(original)
    expect(shown).toContain('agent_id')
  })

  test.each([
    ['nothing', ''],
    ['an RSA key', '-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----'],
    // X25519: a key of the same length for another purpose
    [
      'an X25519 key',
      '-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VuBCIEIKjmrkmk2CUQyqlPw6Ye3WkTQ8eYy+wkw5wNqv1fDrFp\n-----END PRIVATE KEY-----',
    ],
  ])('%s is not imported', async (_, text) => {
    using folder = temporaryFolder()
    const run = await svc(['key', 'import', '-', '--key', folder.path('a.key')], { stdin: text })
    expect(run).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('no Ed25519 key') })
    expect(() => statSync(folder.path('a.key'))).toThrow()
  })
})

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
    ['send alice', { terminal: true }, 'what to say?'],
    ['send alice text --json-body 1', {}, 'say it once'],
    ['send alice --json-body {', {}, 'not JSON'],
    ['send alice text --ttl -1', {}, '--ttl'],
    ['send alice text --type shout', {}, '--type'],
    ['send alice text --seal-for ed25519:00', {}, 'public key'],
    ['send alice', { stdin: Buffer.from([0xff, 0xfe]) }, 'UTF-8'],
    ['send alice', { stdin: 'x'.repeat(1024 * 1024 + 1) }, '1 MiB'],
  ] satisfies [string, RunOptions, string][])(
    '%s is a mistake that is said and not sent',
    async (command, options, sentence) => {
      await using scene = await startScene('alice')
      const before = scene.service.requests.filter(({ method }) => method === 'POST').length
      const run = await scene.as('alice', command, options)
      expect(run).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(sentence) })
      expect(scene.service.requests.filter(({ method }) => method === 'POST')).toHaveLength(before)
    },
  )

  test('prints an envelope, and post sends it once however often', async () => {
    await using scene = await startScene('alice')
    const { stdout } = await scene.as('alice', 'send alice once --print')
    writeFileSync(scene.folder.path('once.json'), stdout)
    const first = await scene.as('alice', `post ${scene.folder.path('once.json')} --json`)
    const again = await scene.as('alice', 'post - --json', { stdin: stdout })
    expect(first.documents()).toMatchObject([{ duplicate: false }])
    expect(again.documents()).toMatchObject([{ duplicate: true }])
  })

  test('that got no answer says how to find out', async () => {
    await using scene = await startScene('alice')
    scene.service.meet('POST /v2/messages', ...Array.from({ length: 4 }, () => ({ kind: 'lose' }) as const))
    const run = await scene.as('alice', 'send alice once')
    expect(run.exitCode).toBe(3)
    const id = /svc receipt (\S+)/.exec(run.stderr)?.[1] ?? ''
    expect((await scene.as('alice', `receipt ${id} --json`)).documents()).toMatchObject([{ status: 'accepted' }])
  })

  test('to a stranger says that it waits', async () => {
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

describe('what others wrote', () => {
  test('cannot reach the terminal as anything but text', async () => {
    await using scene = await startScene('alice')
    const attack = '\u001b]0;owned\u0007\u001b[2J\u009b31mred\rover\u202eright\b'
    const id = await idOf(scene.as('alice', 'send alice --json --json-body', { rest: [JSON.stringify({ attack })] }))
    const text = await idOf(scene.as('alice', 'send alice --json', { rest: ['--', `${attack}\nsecond line`] }))
    for (const command of [
      `read ${id}`,
      `read ${text}`,
      'inbox',
      'inbox --json',
      'events',
      'export',
      `read ${id} --json`,
    ]) {
      const { stdout, exitCode } = await scene.as('alice', command)
      expect(exitCode, command).toBe(0)
      expect(stdout, command).toMatch(/^[\n\t -~…]*$/)
    }
    // in JSON the value is still the same
    const [document] = (await scene.as('alice', `read ${id} --json`)).documents<{ opened: { body: object } }>()
    expect(document?.opened.body).toEqual({ attack })
    expect((await scene.as('alice', `read ${text}`)).stdout).toContain('\n    second line\n')
  })

  test('cannot pass for a line of svc', async () => {
    await using scene = await startScene('alice')
    const send = await scene.as('alice', 'send alice --', { rest: ['x\n[signed, signature verified]'] })
    expect(send.exitCode).toBe(0)
    expect((await scene.as('alice', 'inbox')).stdout).not.toMatch(/^\[signed/m)
  })

  test.each(['the service', 'a proxy'])('also not in an error of %s', async (who) => {
    await using scene = await startScene('alice')
    const error = JSON.stringify({ error: { code: 'forbidden\u001b[2J', message: '\u001b[2J' } })
    scene.service.meet('GET /v2/me', { kind: 'answer', status: 403, body: who === 'a proxy' ? '\u001b[2J' : error })
    const { stderr, exitCode } = await scene.as('alice', 'whoami')
    expect(exitCode).toBe(who === 'a proxy' ? 3 : 1)
    expect(stderr).toMatch(/^[\n -~]+$/)
  })
})

describe('verification', () => {
  test('what was altered on the way is marked in lists and refused by read', async () => {
    await using scene = await startScene('alice', 'bob')
    await scene.as('bob', 'policy open')
    const id = await idOf(scene.as('alice', 'send bob --json', { rest: ['pay 1'] }))
    const sealed = await idOf(scene.as('alice', 'send bob --json --seal', { rest: ['pay 1'] }))
    scene.service.tamper(id, (envelope) => Object.assign(envelope, { body: 'pay 1000' }))
    scene.service.tamper(sealed, (envelope) => Object.assign(envelope, { ts: '2026-01-01T00:00:00Z' }))

    const list = await scene.as('bob', 'inbox --open --verify alice')
    expect(list.exitCode).toBe(0)
    expect(list.stdout.match(/NOT TO BE TRUSTED/g)).toHaveLength(2)
    expect(list.stdout).not.toContain('pay 1000')
    const read = await scene.as('bob', `read ${id} --verify alice`)
    expect(read).toMatchObject({ exitCode: 4, stdout: '', stderr: expect.stringContaining('not signed by') })
    expect(await scene.as('bob', `read ${sealed}`)).toMatchObject({ exitCode: 4, stdout: '' })
    const json = await scene.as('bob', `read ${id} --verify alice --json`)
    expect(JSON.parse(json.stderr)).toMatchObject({ error: { code: 'invalid_signature' } })
  })

  test('without a key of the sender it says that nothing was checked', async () => {
    await using scene = await startScene('alice', 'bob')
    const id = await idOf(scene.as('alice', 'send bob hello --json --seal'))
    expect((await scene.as('bob', `read ${id}`)).stdout).toContain('signature not checked (--verify)')
    const { documents } = await scene.as('alice', 'key show --json')
    const pubkey = String(documents()[0]?.pubkey)
    expect((await scene.as('bob', `read ${id} --verify ${pubkey}`)).stdout).toContain('signature verified')
    expect((await scene.as('bob', `read ${id} --verify bob --verify alice`)).stdout).toContain('from          alice (')
  })

  test('a key that is none is a mistake', async () => {
    await using scene = await startScene('alice')
    expect(await scene.as('alice', 'inbox --verify ed25519:00')).toMatchObject({ exitCode: 2 })
  })

  test('sealed for a pinned key it opens for that key alone', async () => {
    await using scene = await startScene('alice', 'bob', 'carol')
    const [carol] = (await scene.as('carol', 'key show --json')).documents()
    const id = await idOf(scene.as('alice', `send bob hello --json --seal-for ${String(carol?.pubkey)}`))
    expect((await scene.as('bob', `read ${id}`)).exitCode).toBe(4)
  })
})

describe('lists', () => {
  test('show a page, say how to go on, and go on', async () => {
    await using scene = await startScene('alice')
    for (const text of ['one', 'two', 'three']) await scene.as('alice', `send alice ${text}`)
    const first = await scene.as('alice', 'inbox --limit 2')
    expect(first.stdout).toContain('two')
    expect(first.stdout).not.toContain('three')
    const cursor = /--after '([^']+)'/.exec(first.stderr)?.[1] ?? ''
    const rest = await scene.as('alice', 'inbox', { rest: ['--after', cursor] })
    expect(rest.stdout).toContain('three')
    expect(rest.stdout).not.toContain('two')
    const all = await scene.as('alice', 'inbox --limit 1 --all --json')
    expect(all.documents()).toHaveLength(3)
    expect(all.stderr).toBe('')
  })

  test('events go on behind a cursor, and say what is gone', async () => {
    await using scene = await startScene('alice')
    for (const text of ['one', 'two', 'three', 'four']) await scene.as('alice', `send alice ${text}`)
    const cursors = (run: Run) => run.documents().map(({ cursor }) => cursor)
    expect(cursors(await scene.as('alice', 'events --json --after 1 --limit 2'))).toEqual([2, 3])
    expect(cursors(await scene.as('alice', 'events --json --all --limit 1'))).toEqual([1, 2, 3, 4])
    scene.service.forgetEvents('alice', 3)
    const run = await scene.as('alice', 'events --after 1')
    expect(run.stderr).toContain('warning: events 2 to 3 are no longer kept')
  })

  test.each(['--limit 0', '--limit 101', '--limit x', '--limit 1.5'])('%s is a mistake', async (option) => {
    await using scene = await startScene('alice')
    for (const command of ['inbox', 'events', 'agents', 'contacts list']) {
      expect((await scene.as('alice', `${command} ${option}`)).exitCode, command).toBe(2)
    }
  })
})

describe('revoke', () => {
  test('asks on a terminal for the agent id', async () => {
    await using scene = await startScene('alice')
    const [key] = (await scene.as('alice', 'key show --json')).documents()
    const wrong = await scene.as('alice', 'revoke', { terminal: true, stdin: 'yes\n' })
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('not revoked') })
    expect((await scene.as('alice', 'whoami')).exitCode).toBe(0)
    const right = await scene.as('alice', 'revoke', { terminal: true, stdin: `${String(key?.agent_id)}\n` })
    expect(right).toMatchObject({ exitCode: 0, stdout: `revoked ${String(key?.agent_id)}\n` })
    expect(await scene.as('alice', 'whoami')).toMatchObject({
      exitCode: 1,
      stderr: 'svc: the identity was revoked (signer_revoked)\n',
    })
  })

  test('does not ask where nobody is, and does nothing then', async () => {
    await using scene = await startScene('alice')
    expect(await scene.as('alice', 'revoke')).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes') })
    expect((await scene.as('alice', 'whoami')).exitCode).toBe(0)
  })
})

describe('settings and contacts', () => {
  test('are shown and set', async () => {
    await using scene = await startScene('alice', 'bob')
    expect((await scene.as('bob', 'policy')).stdout).toBe('requests\n')
    expect((await scene.as('bob', 'policy contacts')).stdout).toBe('contacts\n')
    expect((await scene.as('bob', 'discoverable')).stdout).toBe('off\n')
    expect((await scene.as('bob', 'discoverable on')).stdout).toBe('on\n')
    expect((await scene.as('bob', 'policy ajar')).exitCode).toBe(2)
    const [alice] = (await scene.as('alice', 'key show --json')).documents()
    const id = String(alice?.agent_id)
    await scene.as('bob', `contacts block ${id}`)
    expect((await scene.as('bob', 'contacts')).stdout).toBe(`${id}  blocked\n`)
    await scene.as('bob', 'contacts remove alice')
    expect(await scene.as('bob', 'contacts list')).toMatchObject({ stdout: '', stderr: 'no contacts\n' })
    expect(await scene.as('bob', 'contacts accept nobody')).toMatchObject({ exitCode: 1 })
  })
})

describe('exit codes', () => {
  const nowhere = ['--url', 'http://127.0.0.1:9']
  test.each([
    ['help', ['--help'], 0],
    ['help of a command', ['help', 'send'], 0],
    ['the version', ['--version'], 0],
    ['no command', [], 2],
    ['an unknown command', ['sned'], 2],
    ['an unknown option', ['health', '--loud'], 2],
    ['an argument too many', ['health', 'now'], 2],
    ['a URL that is none', ['health', '--url', 'nowhere'], 2],
    ['a URL with a path', ['health', '--url', 'http://127.0.0.1:9/v2'], 2],
    ['nobody there', ['health', ...nowhere], 3],
  ])('%s', async (_, args, exitCode) => {
    expect((await svc(args)).exitCode).toBe(exitCode)
  })

  test('a service that cannot work', async () => {
    await using service = await startFakeService()
    const body = JSON.stringify({ status: 'unavailable', service: 's', version: 'v' })
    service.meet('GET /v2/health', { kind: 'answer', status: 503, body })
    expect(await svc(['health', '--url', service.url])).toMatchObject({ exitCode: 1, stdout: 'unavailable (s v)\n' })
  })

  test('interrupted', async () => {
    await using service = await startFakeService()
    service.meet('GET /v2/health', { kind: 'hang' })
    const stop = new AbortController()
    const run = svc(['health', '--url', service.url], { signal: stop.signal })
    stop.abort()
    expect(await run).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
  })
})

test('is interrupted also while it waits for standard input', async () => {
  await using scene = await startScene('alice')
  const stop = new AbortController()
  const endless = new PassThrough()
  const run = scene.as('alice', 'send alice', { stdin: endless, signal: stop.signal })
  endless.write('half a sent')
  await eventually(() => endless.readableLength === 0)
  stop.abort()
  expect(await run).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
})

test('a refusal is one sentence with its code, and what to do', async () => {
  await using scene = await startScene('alice')
  const nobody = scene.folder.path('nobody.key')
  await svc(['keygen', '--key', nobody])
  const run = await svc(['whoami', '--key', nobody, '--url', scene.service.url])
  expect(run.stderr).toBe(
    'svc: no identity with this agent id is registered (signer_unknown); this key is not registered: svc register <name> --key <file>\n',
  )
  const fault: Parameters<FakeService['meet']>[1] = {
    kind: 'refuse',
    code: 'budget_exhausted',
    retryAfterSeconds: 11_521,
  }
  scene.service.meet('POST /v2/messages', fault)
  expect((await scene.as('alice', 'send alice hello')).stderr).toBe(
    'svc: free units and credits do not cover the cost (budget_exhausted); try again in 3 h 13 min\n',
  )
})

test('the progress of the proof of work is shown on a terminal alone, and not with --json', async () => {
  using folder = temporaryFolder()
  const register = async (terminal: boolean, ...options: string[]) => {
    // the first challenge of a new service for this key takes 329,620 hashes, so there is time to draw
    await using service = await startFakeService({ difficulty: 16 })
    const key = folder.path(`${terminal}${options.join()}.key`)
    await svc(['key', 'import', '-', '--key', key], { stdin: '26'.repeat(32) })
    return await svc(['register', 'alice', ...options, '--key', key, '--url', service.url], { terminal })
  }
  const { stdout, stderr } = await register(true)
  expect(stderr).toMatch(/^\rproof of work \[[#.]{24}\] \d+ % likely done, \d+ hashes, [\d.]+ s/)
  expect(stderr.endsWith('\r\u001b[K')).toBe(true)
  expect(stdout).toContain('registered alice@')
  expect((await register(false)).stderr).toBe('')
  expect((await register(true, '--json')).stderr).toBe('')
})

test('every command has help with an example', async () => {
  const commands = /Commands:\n([\s\S]+?)\n\n/.exec((await svc(['--help'])).stdout)?.[1] ?? ''
  const names = [...commands.matchAll(/^ {2}([a-z]+)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help')
  const groups: Record<string, string[]> = {
    contacts: ['list', 'accept', 'block', 'remove'],
    key: ['show', 'export', 'import'],
    admin: ['grant'],
  }
  expect(names.length).toBeGreaterThan(15)
  const all = names.flatMap((name) => groups[name]?.map((part) => [name, part]) ?? [[name]])
  for (const command of all) {
    const { stdout, exitCode } = await svc([...command, '--help'])
    expect(exitCode).toBe(0)
    expect(stdout, command.join(' ')).toMatch(/Examples?:\n {2}\S/)
    expect(stdout, command.join(' ')).toContain('--json')
  }
})
