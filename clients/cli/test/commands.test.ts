import { PassThrough } from 'node:stream'
import { startService } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import type { Fault } from '@svc/test/support/stand-ins/fault-proxy.ts'
import { describe, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'
import { idOf, startScene } from './scene.ts'

test('the main commands, as a table', async () => {
  await using scene = await startScene('alice', 'bob')
  expect(await scene.as('bob', 'contacts accept alice')).toMatchObject({ exitCode: 0, stdout: 'accepted alice\n' })

  const sent = await scene.as('alice', 'send bob', { rest: ['hello, bob'] })
  expect(sent.stdout).toMatch(/^accepted: [0-9a-f]{32} \(inbox\)\n$/)
  const id = /accepted: (\S+)/.exec(sent.stdout)?.[1] ?? ''
  expect((await scene.as('alice', 'send bob --seal secret')).exitCode).toBe(0)

  const inbox = await scene.as('bob', 'inbox')
  expect(inbox.stdout).toContain(`${id}  `)
  expect(inbox.stdout).toContain('\n    | hello, bob\n')
  expect(inbox.stdout).toContain('[sealed: use --open or svc read]')
  expect(inbox.stdout).not.toContain('secret')

  const opened = await scene.as('bob', 'inbox --open --verify alice')
  expect(opened.stdout).toContain('from alice\n    [signed, signature verified]\n    | hello, bob\n')
  expect(opened.stdout).toContain('from alice\n    [sealed, signature verified]\n    | secret\n')

  expect((await scene.as('alice', `receipt ${id}`)).stdout).toMatch(/^accepted \(/)
  expect(await scene.as('bob', `ack ${id}`)).toMatchObject({ exitCode: 0, stdout: `acknowledged ${id}\n` })
  expect((await scene.as('alice', `receipt ${id}`)).stdout).toMatch(/^processed \(/)
  expect((await scene.as('alice', 'budget')).stdout).toContain('2 of 100000 free')
  expect((await scene.as('bob', 'inbox --unacked')).stdout).not.toContain(id)
})

describe('--json', () => {
  test('prints only the answers of the API to stdout, one document per line', async () => {
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
      ['bob', `read ${id} --json`, { envelope: { id }, opened: { body: 'hello', verified: true, sealed: false } }],
      ['bob', 'events --json', { cursor: 1, kind: 'requests', message: { envelope: { id } } }],
      ['bob', `ack ${id} --json`, { msg_id: id, status: 'acked' }],
      ['bob', 'export --json', { envelope: { id } }],
      ['bob', 'policy open --json', { inbox_policy: 'open' }],
      ['bob', 'discoverable on --json', { discoverable: true }],
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

  test('prints errors as a document to stderr', async () => {
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

  test.each([
    ['--json', 'no command'],
    ['admin --json', 'no command'],
    ['--json sned', "unknown command 'sned'"],
    ['health --loud --output json', "unknown option '--loud'"],
    ['contacts acept --json', 'svc contacts has no command acept'],
    ['contacts accept --json', "missing required argument 'agent'"],
    ['inbox --limit x --output=ndjson', 'It must be a whole number'],
    ['inbox --json --key', "option '--key <file>' argument missing"],
    ['policy ajar --json', "'ajar' is invalid"],
    ['agents --json --quiet', 'cannot be used with option'],
    ['keygen --json --key /no/such/folder/key', 'cannot be written'],
  ])('svc %s: a usage error is a document too, and nothing else', async (command, message) => {
    const run = await svc(command.split(' '))
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(JSON.parse(run.stderr)).toEqual({ error: { code: 'usage', message: expect.stringContaining(message) } })
  })

  test('prints nothing for an empty list', async () => {
    await using scene = await startScene('alice')
    expect(await scene.as('alice', 'inbox --json')).toMatchObject({ exitCode: 0, stdout: '', stderr: 'no messages\n' })
  })
})

describe('revoke', () => {
  test('asks for the agent id on a terminal', async () => {
    await using scene = await startScene('alice')
    const [key] = (await scene.as('alice', 'key show --json')).documents()
    const wrong = await scene.as('alice', 'revoke', { terminal: true, stdin: 'yes\n' })
    expect(wrong).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('not revoked') })
    expect((await scene.as('alice', 'whoami')).exitCode).toBe(0)
    const right = await scene.as('alice', 'revoke', { terminal: true, stdin: `${String(key?.agent_id)}\n` })
    expect(right).toMatchObject({ exitCode: 0, stdout: `revoked ${String(key?.agent_id)}\n` })
    expect(await scene.as('alice', 'whoami')).toMatchObject({
      exitCode: 1,
      stderr: 'svc: the identity was revoked (signer_revoked); make another agent: svc init <name>\n',
    })
  })

  test('does nothing if there is no terminal to ask on', async () => {
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

  test.each(['agent_id', 'pubkey'])('a name is pinned to the %s that was told outside the service', async (told) => {
    await using scene = await startScene('alice', 'bob', 'mallory')
    const [bob, mallory] = await Promise.all(
      ['bob', 'mallory'].map(async (name) => (await scene.as(name, 'key show --json')).documents()[0]),
    )
    const pinned = await scene.as('alice', `contacts pin bob ${bob?.[told]} --json`)
    expect(pinned.documents()).toEqual([{ name: 'bob', ...bob }])
    expect(await scene.as('alice', `contacts pin bob ${mallory?.[told]}`)).toMatchObject({
      exitCode: 4,
      stderr: expect.stringContaining('to which the name is pinned'),
    })
    // The service gives another key for this name than the one that was told.
    await scene.as('alice', `contacts pin mallory ${bob?.[told]}`)
    expect(await scene.as('alice', 'lookup mallory')).toMatchObject({ exitCode: 4 })
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
    ['an unknown command of a group', ['contacts', 'acept'], 2],
    ['two formats at once', ['agents', '--quiet', '--json'], 2],
    ['an invalid format', ['agents', '--output', 'xml'], 2],
    ['a profile that does not exist', ['inbox', '--profile', 'nobody'], 2],
    ['a profile with a dot segment', ['inbox', '--profile', '../key'], 2],
    ['an unknown option', ['health', '--loud'], 2],
    ['a surplus argument', ['health', 'now'], 2],
    ['an empty name', ['lookup', ''], 2],
    ['a dot segment as name', ['lookup', '..'], 2],
    ['a dot segment as id', ['read', '..'], 2],
    ['a dot segment among ids', ['ack', '12345678', '.'], 2],
    ['a dot segment as contact', ['contacts', 'block', '..'], 2],
    ['a pin that is no id and no key', ['contacts', 'pin', 'bob', 'ed25519:00'], 2],
    ['a dot segment as board', ['boards', 'show', '..'], 2],
    ['a dot segment as post', ['boards', 'hide', 'board', '.'], 2],
    ['an invalid role', ['boards', 'role', 'board', 'bob', 'owner'], 2],
    ['an invalid visibility', ['boards', 'create', 'x', '--visibility', 'secret'], 2],
    ['a vote for a dot segment', ['vote', '..'], 2],
    ['a dot segment as sender', ['inbox', '--verify', '..'], 2],
    ['a sender that is no key', ['inbox', '--verify', 'ed25519:00'], 2],
    ['an invalid URL', ['health', '--url', 'nowhere'], 2],
    ['a URL with a path', ['health', '--url', 'http://127.0.0.1:9/v2'], 2],
    ['no process on the port', ['health', ...nowhere], 3],
  ])('%s', async (_, args, exitCode) => {
    expect((await svc(args)).exitCode).toBe(exitCode)
  })

  test('a service that does not work', async () => {
    await using service = await startService()
    const body = JSON.stringify({ status: 'unavailable', service: 's', version: 'v' })
    service.meet('GET /v2/health', { kind: 'answer', status: 503, body })
    expect(await svc(['health', '--url', service.url])).toMatchObject({ exitCode: 1, stdout: 'unavailable (s v)\n' })
  })

  test('an interrupt', async () => {
    await using service = await startService()
    service.meet('GET /v2/health', { kind: 'hang' })
    const stop = new AbortController()
    const run = svc(['health', '--url', service.url], { signal: stop.signal })
    stop.abort()
    expect(await run).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
  })
})

test('empty standard input sends no message, but an empty argument does', async () => {
  await using scene = await startScene('alice')
  const sent = (): number => scene.service.requests.filter(({ target }) => target === '/v2/messages').length
  expect(await scene.as('alice', 'send alice')).toMatchObject({ exitCode: 2, stdout: '' })
  expect(sent()).toBe(0)
  expect(await scene.as('alice', 'send alice', { rest: [''] })).toMatchObject({ exitCode: 0 })
  expect(sent()).toBe(1)
})

test('can be interrupted while it waits for standard input', async () => {
  await using scene = await startScene('alice')
  const stop = new AbortController()
  const endless = new PassThrough()
  const run = scene.as('alice', 'send alice', { stdin: endless, signal: stop.signal })
  endless.write('half a sent')
  await eventually(() => endless.readableLength === 0)
  stop.abort()
  expect(await run).toMatchObject({ exitCode: 130, stdout: '', stderr: '' })
})

test.each([
  [['sned'], 'Did you mean send?'],
  [['contacts', 'acept', 'alice'], 'did you mean accept?'],
  [['send', 'bob', '--sael'], 'Did you mean --seal?'],
  [['contacts', 'befriend'], 'its commands are list, accept, block, remove, pin'],
  [['inbox'], 'run svc init to make an agent'],
])('the error of svc %j says what to do: %s', async (args, hint) => {
  expect((await svc(args)).stderr).toContain(hint)
})

test('the error for a refusal is one sentence with the code and what to do', async () => {
  await using scene = await startScene('alice')
  const nobody = scene.folder.path('nobody.key')
  await svc(['keygen', '--key', nobody])
  const run = await svc(['whoami', '--key', nobody, '--url', scene.service.url])
  expect(run.stderr).toBe(
    'svc: no identity with this agent id is registered (signer_unknown); this key is not registered: svc register <name> --key <file>\n',
  )
  const fault: Fault = {
    kind: 'refuse',
    code: 'budget_exhausted',
    retryAfterSeconds: 11_521,
  }
  scene.service.meet('POST /v2/messages', fault)
  expect((await scene.as('alice', 'send alice hello')).stderr).toBe(
    'svc: free units and credits do not cover the cost (budget_exhausted); svc budget shows what is left; try again in 3 h 13 min\n',
  )
})

test('the progress of the proof of work is shown only on a terminal, and not with --json', async () => {
  using folder = temporaryFolder()
  const register = async (terminal: boolean, ...options: string[]) => {
    // This challenge takes many hashes, so the bar has time to appear.
    await using service = await startService()
    const challenge = {
      challenge: 'x',
      difficulty: 17,
      expires_at: Math.floor(Date.now() / 1_000) + 300,
      algorithm: 'sha256',
    }
    service.meet('POST /v2/challenges', { kind: 'answer', status: 201, body: JSON.stringify(challenge) })
    const key = folder.path(`${terminal}${options.join()}.key`)
    await svc(['key', 'import', '-', '--key', key], { stdin: '26'.repeat(32) })
    const [{ agent_id } = {}] = (await svc(['key', 'show', '--json', '--key', key])).documents()
    const registered = JSON.stringify({ agent_id, address: `alice@${service.authority}` })
    service.meet('POST /v2/agents/register', { kind: 'answer', status: 201, body: registered })
    return await svc(['register', 'alice', ...options, '--key', key, '--url', service.url], { terminal })
  }
  const { stdout, stderr } = await register(true)
  expect(stderr).toMatch(/^\rproof of work \[[#.]{24}\] \d+ % likely done, \d+ hashes, [\d.]+ s/)
  expect(stderr.endsWith('\r\u001b[K')).toBe(true)
  expect(stdout).toContain('registered alice@')
  expect((await register(false)).stderr).toBe('')
  expect((await register(true, '--json')).stderr).toBe('')
})
