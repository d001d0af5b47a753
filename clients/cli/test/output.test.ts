import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { describe, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'
import { idOf, startScene } from './scene.ts'

const run = promisify(execFile)

test('--quiet prints only ids, so that a script needs no other tool', async () => {
  await using scene = await startScene('alice', 'bob')
  await scene.as('bob', 'policy open')
  const id = (await scene.as('alice', 'send bob hello --quiet')).stdout.trim()
  expect(id).toMatch(/^[0-9a-f]{32}$/)
  const board = (await scene.as('alice', 'boards create Releases --quiet')).stdout.trim()
  const post = (await scene.as('alice', `send board:${board} news -q`)).stdout.trim()
  const bob = (await scene.as('bob', 'key show --quiet')).stdout
  const commands: [string, string, string][] = [
    ['bob', 'inbox --quiet', `${id}\n`],
    ['bob', `read ${id} --quiet`, `${id}\n`],
    ['bob', 'events --quiet', `${id}\n`],
    ['bob', `ack ${id} --quiet`, `${id}\n`],
    ['alice', `receipt ${id} --quiet`, 'processed\n'],
    ['alice', 'lookup bob --quiet', bob],
    ['alice', `boards feed ${board} --quiet`, `${post}\n`],
    ['bob', `vote ${post} --quiet`, `${post}\n`],
    ['bob', 'policy --quiet', 'open\n'],
    ['bob', 'inbox --unacked --quiet', ''],
    ['bob', 'export --quiet', `${id}\n`],
    ['alice', 'health --quiet', 'ok\n'],
  ]
  for (const [name, command, stdout] of commands) {
    const { exitCode, stdout: printed, stderr } = await scene.as(name, command)
    expect({ command, exitCode, printed, stderr }).toEqual({ command, exitCode: 0, printed: stdout, stderr: '' })
  }
})

describe('--output', () => {
  test('json prints one document; a list is an array', async () => {
    await using scene = await startScene('alice')
    const ids = [
      await idOf(scene.as('alice', 'send alice one --json')),
      await idOf(scene.as('alice', 'send alice two --json')),
    ]
    const list = async (command: string) => JSON.parse((await scene.as('alice', command)).stdout)
    expect(await list('inbox --output json')).toMatchObject(ids.map((id) => ({ envelope: { id } })))
    expect(await list('export --output json')).toHaveLength(2)
    expect(await list('inbox --requests --output json')).toEqual([])
    expect(await list('whoami --output json')).toMatchObject({ agent: { name: 'alice' } })
    expect((await scene.as('alice', 'inbox --output ndjson')).stdout).toBe(
      (await scene.as('alice', 'inbox --json')).stdout,
    )
    expect((await scene.as('alice', 'inbox --output table')).stdout).toBe((await scene.as('alice', 'inbox')).stdout)
  })

  test('a list that failed half-way is not valid JSON', async () => {
    await using scene = await startScene('alice')
    for (const text of ['one', 'two']) await scene.as('alice', `send alice ${text}`)
    scene.service.meet('GET /v2/inbox?after', { kind: 'refuse', code: 'forbidden' })
    scene.service.meet('GET /v2/inbox?limit=1&after', { kind: 'refuse', code: 'forbidden' })
    scene.service.meet('GET /v2/inbox?after', { kind: 'refuse', code: 'forbidden' })
    const broken = await scene.as('alice', 'inbox --limit 1 --all --output json')
    expect(broken.exitCode).toBe(1)
    expect(() => JSON.parse(broken.stdout)).toThrow()
    expect(JSON.parse(broken.stderr)).toMatchObject({ error: { code: 'forbidden' } })
  })
})

describe('colours', () => {
  test.each([
    ['on a terminal', {}, true, true],
    ['not elsewhere', {}, false, false],
    ['not with NO_COLOR', { NO_COLOR: '1' }, true, false],
    ['with an empty NO_COLOR', { NO_COLOR: '' }, true, true],
    ['with FORCE_COLOR', { FORCE_COLOR: '1' }, false, true],
    ['not with both', { FORCE_COLOR: '1', NO_COLOR: '1' }, true, false],
    ['not on a dumb terminal', { TERM: 'dumb' }, true, false],
  ])('are shown %s', async (_, env, coloured, shown) => {
    await using scene = await startScene('alice')
    await scene.as('alice', 'send alice hello')
    const { stdout } = await scene.as('alice', 'inbox --open', { env, coloured })
    expect(stdout.includes('\u001b[')).toBe(shown)
    expect((await svc(['--help'], { env, coloured })).stdout.includes('\u001b[')).toBe(shown)
  })

  test('are only bold, faint, red and green, and never come from text of others', async () => {
    await using scene = await startScene('alice')
    await scene.as('alice', 'send alice', { rest: ['\u001b[33myellow'] })
    const { stdout } = await scene.as('alice', 'inbox --open', { coloured: true })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern searches for control characters
    const codes = new Set([...stdout.matchAll(/\u001b\[(\d+)m/g)].map(([, code]) => code))
    expect([...codes].filter((code) => !['0', '1', '2', '31', '32'].includes(String(code)))).toEqual([])
    expect(stdout).toContain('\\u{1b}[33myellow')
  })
})

describe('completion', () => {
  const complete = async (words: string[], env = {}) =>
    (await svc(['complete', 'bash', '--', ...words], { env })).stdout.split('\n').filter((line) => line !== '')

  test.each([
    [['who'], ['whoami']],
    [['boards', 'mem'], ['members']],
    [['--url', 'http://x', 'boards', 'mem'], ['members']],
    [['inbox', '--una'], ['--unacked']],
    [
      ['inbox', '--output', ''],
      ['table', 'json', 'ndjson'],
    ],
    [['policy', 'o'], ['open']],
    [['boards', 'role', 'board', 'bob', 'b'], ['banned']],
    [
      ['send', 'bob', '--type', 're'],
      ['request', 'response'],
    ],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['post', ''], []],
    [['send', '--', '--s'], []],
  ])('of %j is %j', async (words, found) => {
    expect(await complete(words)).toEqual(found)
  })

  test('offers the profiles', async () => {
    await using scene = await startScene()
    const env = { SVC_CONFIG_DIR: scene.folder.path('config') }
    await scene.run(['init', 'alice', '--url', scene.service.url], { env })
    const alice = scene.name('alice')
    expect(await complete(['inbox', '--profile', 'al'], env)).toEqual([alice])
    expect(await complete(['profiles', 'use', ''], env)).toEqual([alice])
  })

  test('the script works in bash', async () => {
    using folder = temporaryFolder()
    const script = (await svc(['completion', 'bash'])).stdout
    const main = JSON.stringify(new URL('../src/main.ts', import.meta.url).pathname)
    const session = `svc() { ${JSON.stringify(process.execPath)} ${main} "$@"; }
      ${script}
      COMP_WORDS=(svc boards role x bob w); COMP_CWORD=5; _svc_complete; echo "\${COMPREPLY[@]}"
      COMP_WORDS=(svc --prof); COMP_CWORD=1; _svc_complete; echo "\${COMPREPLY[@]}"`
    const { stdout } = await run('bash', ['--norc', '-c', session], {
      cwd: folder.path('.'),
      env: ENVIRONMENT,
    })
    expect(stdout).toBe('writer\n--profile\n')
  })

  test.each(['zsh', 'fish'])('%s gets the values with their descriptions', async (shell) => {
    expect((await svc(['completion', shell])).stdout).toContain('svc complete')
    expect((await svc(['complete', shell, '--', 'whoa'])).stdout).toMatch(/^whoami[:\t]show this agent's identity/)
  })
})
