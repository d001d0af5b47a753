import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test, vi } from 'vitest'
import { type RunOptions, svc } from './run.ts'
import { startPlace } from './scene.ts'

/** A service, and a home folder without profiles. */
async function startHome() {
  const place = await startPlace()
  const { folder, service, run } = place
  const env = { SVC_CONFIG_DIR: folder.path('config'), SVC_STATE_DIR: folder.path('state'), SVC_URL: service.url }
  return {
    ...place,
    run: (args: string, options: RunOptions = {}) =>
      run(args.split(' '), { ...options, env: { ...env, ...options.env } }),
    /** The file of a profile or key. */
    file: (path: string) => folder.path(`config/${place.name(path.replace('.key', ' .key')).replace(' .key', '.key')}`),
  }
}

describe('svc init', () => {
  test('creates a key, registers it and creates a profile; the first profile is the default', async () => {
    await using home = await startHome()
    const made = await home.run('init alice')
    expect(made).toMatchObject({ exitCode: 0, stderr: '' })
    expect(made.stdout).toContain(`registered alice@${home.service.authority}`)
    expect(made.stdout).toMatch(/^default +yes$/m)
    const key = home.file('keys/alice.key')
    if (process.platform !== 'win32') {
      expect(statSync(key).mode & 0o777).toBe(0o600)
      expect(statSync(home.folder.path('config/keys')).mode & 0o777).toBe(0o700)
    }
    expect((await home.run('init bob')).stdout).not.toMatch(/^default/m)
    expect((await home.run('whoami')).stdout).toContain('alice@')
    expect((await home.run('whoami --profile bob')).stdout).toContain('bob@')
    expect((await home.run('whoami', { env: { SVC_PROFILE: home.name('bob') } })).stdout).toContain('bob@')
    expect((await home.run('init carol --default')).stdout).toMatch(/^default +yes$/m)
    expect((await home.run('whoami')).stdout).toContain('carol@')
  })

  test('asks for a missing name, but only on a terminal', async () => {
    await using home = await startHome()
    const asked = await home.run('init', { terminal: true, stdin: 'dora\n' })
    expect(asked).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('registered dora@') })
    expect(await home.run('init')).toMatchObject({ exitCode: 2, stderr: 'svc: no name: svc init <name>\n' })
  })

  test('continues after a failed step, and changes nothing if everything exists', async () => {
    await using home = await startHome()
    home.service.meet('POST /v2/agents/register', { kind: 'refuse', code: 'rate_limited', retryAfterSeconds: 100 })
    expect((await home.run('init alice')).exitCode).toBe(1)
    const key = readFileSync(home.file('keys/alice.key'), 'utf8')
    expect((await home.run('init alice')).exitCode).toBe(0)
    expect((await home.run('init alice')).exitCode).toBe(0)
    expect(readFileSync(home.file('keys/alice.key'), 'utf8')).toBe(key)
    rmSync(home.folder.path('config/profiles'), { recursive: true })
    expect((await home.run('init alice')).exitCode).toBe(0)
  })

  test('does not change a profile of another service', async () => {
    await using home = await startHome()
    await home.run('init alice')
    const other = await home.run('init alice --url http://127.0.0.1:9')
    expect(other).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('choose another --profile') })
  })

  test('makes the key file that svc mcp --register takes, also if another agent is the default', async () => {
    await using home = await startHome()
    await home.run('init bob')
    expect(await home.run('mcp --register alice')).toMatchObject({ exitCode: 0 })
    const key = readFileSync(home.file('keys/alice.key'), 'utf8')
    expect((await home.run('init alice')).exitCode).toBe(0)
    expect(readFileSync(home.file('keys/alice.key'), 'utf8')).toBe(key)
    const misnamed = await home.run('mcp --register ../alice')
    expect(misnamed).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('3 to 32 characters') })
  })

  test('uses an existing key, and a profile with another name', async () => {
    await using home = await startHome()
    const key = home.folder.path('own.key')
    await svc(['keygen', '--key', key])
    const made = await home.run(`init alice --key ${key} --profile work --json`)
    expect(made.documents()).toMatchObject([{ profile: 'work', key, default: true }])
    expect((await home.run('whoami --profile work')).stdout).toContain('alice@')
  })
})

describe('the choice of agent and service', () => {
  test.each([
    ['--key overrides a profile', '--key other.key', {}, 'other'],
    ['--key overrides SVC_PROFILE', '--key other.key', { SVC_PROFILE: 'bob' }, 'other'],
    ['--profile overrides SVC_KEY', '--profile bob', { SVC_KEY: 'other.key' }, 'bob'],
    ['SVC_KEY overrides SVC_PROFILE', '', { SVC_KEY: 'other.key', SVC_PROFILE: 'bob' }, 'other'],
    ['SVC_PROFILE overrides the default profile', '', { SVC_PROFILE: 'bob' }, 'bob'],
    ['the default profile comes last', '', {}, 'alice'],
  ])('%s', async (_, options, env, name) => {
    await using home = await startHome()
    for (const one of ['alice', 'bob']) await home.run(`init ${one}`)
    const other = home.folder.path('other.key')
    await home.run(`init other --key ${other} --profile another`)
    const named = (text: string) => text.replace('other.key', other)
    const variables = Object.fromEntries(Object.entries(env).map(([variable, value]) => [variable, named(value)]))
    const run = await home.run(`whoami ${named(options)}`.trim(), {
      env: Object.fromEntries(Object.entries(variables).map(([name, value]) => [name, home.name(value)])),
    })
    expect(run.stdout).toContain(`${name}@`)
  })

  test('a profile names its service, and pins the authority that svc init found', async () => {
    await using home = await startHome()
    await home.run('init alice')
    expect((await home.run('whoami', { env: { SVC_URL: '' } })).exitCode).toBe(0)
    const profile = JSON.parse(readFileSync(home.file('profiles/alice.json'), 'utf8'))
    expect(profile).toMatchObject({
      url: home.service.url,
      authority: home.service.authority,
      agent: home.name('alice'),
    })
    // So the service cannot give this agent the name of another, to show it that agent's messages.
    await home.run('send alice hello')
    const before = home.service.requests.length
    expect((await home.run('inbox')).stdout).toContain('| hello')
    expect(home.service.requests.slice(before).map(({ target }) => target)).toEqual(['/v2/inbox'])
    writeFileSync(home.file('profiles/alice.json'), JSON.stringify({ ...profile, authority: 'other.example' }))
    // The pin also holds if only the key is named, as in the configuration of an MCP client.
    const key = home.file('keys/alice.key')
    for (const command of [
      'whoami',
      `whoami --key ${key}`,
      `mcp --key ${key}`,
      `mcp --key ${key} --url ${home.service.url}/`,
    ]) {
      expect((await home.run(command)).stderr, command).toContain('signature_invalid')
    }
    writeFileSync(home.file('profiles/bob.json'), 'damaged')
    expect((await home.run(`whoami --key ${key}`)).stderr).toContain('signature_invalid')
    const inherited = { SVC_URL: home.service.url, SVC_AUTHORITY: 'other.example' }
    rmSync(home.file('profiles/alice.json'))
    expect((await home.run(`whoami --key ${key}`, { env: inherited })).stderr).toContain('signature_invalid')
    const unpinned = `whoami --key ${key} --authority ${home.service.authority}`
    expect((await home.run(unpinned)).exitCode).toBe(0)
  })

  test('the error for a damaged profile is one sentence', async () => {
    await using home = await startHome()
    mkdirSync(home.folder.path('config/profiles'), { recursive: true })
    writeFileSync(home.file('profiles/alice.json'), '{"key":')
    expect(await home.run('whoami --profile alice')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('is not a profile'),
    })
  })
})

test('svc profiles lists, chooses and removes profiles, but never removes a key', async () => {
  await using home = await startHome()
  expect(await home.run('profiles')).toMatchObject({ exitCode: 0, stderr: 'no profiles: run svc init\n' })
  for (const one of ['alice', 'bob']) await home.run(`init ${one}`)
  expect((await home.run('profiles --quiet')).stdout).toBe('alice\nbob\n')
  await home.run('profiles use bob')
  expect((await home.run('profiles')).stdout).toMatch(/^ {3}alice .*\n\* {2}bob /)
  expect((await home.run('profiles remove bob')).stdout).toContain('its key is still in')
  expect(existsSync(home.file('keys/bob.key'))).toBe(true)
  expect((await home.run('inbox')).stderr).toContain('no key')
  expect((await home.run(`inbox --profile ${home.name('alice')}x`)).stderr).toContain('did you mean alice?')
})

describe('svc doctor', () => {
  const results = async (run: ReturnType<typeof svc>) =>
    Object.fromEntries((await run).documents<{ check: string; result: string }>().map((one) => [one.check, one.result]))

  test('reports ok for every check if nothing is wrong', async () => {
    await using home = await startHome()
    await home.run('init alice')
    const frame = { kind: 'answer', status: 200, body: 'retry: 1000\n\n' } as const
    home.service.meet('GET /v2/stream', frame, frame)
    const run = await home.run('doctor')
    expect(run).toMatchObject({ exitCode: 0, stderr: '' })
    expect(Object.values(await results(home.run('doctor --json')))).toEqual(Array(14).fill('ok'))
  })

  test('names each problem and its solution, and exits with 1', async () => {
    await using home = await startHome()
    await home.run('init alice')
    expect(await results(home.run('doctor --url http://127.0.0.1:9 --json'))).toMatchObject({
      reachability: 'failed',
      registration: 'skipped',
    })
    const plain = await home.run(`doctor --url ${home.service.url.replace('http:', 'https:')}`)
    expect(plain.stdout).toMatch(/failed +tls +the server does not speak TLS: give --url http:/)
    expect(plain.stdout).toMatch(
      /failed +reachability .*: the server does not speak TLS at this port: use http:.*: is the service up/,
    )
    const clock = vi.spyOn(Date, 'now')
    const right = performance.timeOrigin
    clock.mockImplementation(() => right + performance.now() - 120_000)
    const late = await home.run('doctor')
    clock.mockRestore()
    expect(late).toMatchObject({
      exitCode: 1,
      stdout: expect.stringMatching(/failed +clock +1(19|20|21) s behind the service/),
    })
    chmodSync(home.file('keys/alice.key'), 0o644)
    if (process.platform !== 'win32') expect((await home.run('doctor')).stdout).toMatch(/warning +key +others can read/)
    const stranger = home.folder.path('stranger.key')
    await svc(['keygen', '--key', stranger])
    expect((await home.run(`doctor --key ${stranger}`)).stdout).toMatch(/failed +registration .*svc register/)
    expect((await home.run(`doctor --authority other.example`)).stdout).toMatch(/failed +authority /)
  })
})
