import { chmodSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'

describe('key files', () => {
  test('are readable only by their owner, and never overwritten', async () => {
    using folder = temporaryFolder()
    const path = folder.path('a.key')
    expect((await svc(['keygen', '--key', path])).exitCode).toBe(0)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    const before = readFileSync(path, 'utf8')
    const again = await svc(['keygen', '--key', path])
    expect(again).toMatchObject({
      exitCode: 2,
      stdout: '',
      stderr: `svc: ${path} exists already and is not overwritten\n`,
    })
    expect(readFileSync(path, 'utf8')).toBe(before)
  })

  test('keygen does not show the secret', async () => {
    using folder = temporaryFolder()
    const { stdout, stderr } = await svc(['keygen', '--key', folder.path('a.key'), '--json'])
    const { seed } = JSON.parse(readFileSync(folder.path('a.key'), 'utf8')) as { seed: string }
    expect(stdout + stderr).not.toContain(seed)
  })

  test.runIf(process.platform !== 'win32')('that others can read are used, with a warning', async () => {
    using folder = temporaryFolder()
    const path = folder.path('a.key')
    await svc(['keygen', '--key', path])
    expect((await svc(['key', 'show', '--key', path])).stderr).toBe('')
    chmodSync(path, 0o640)
    const { exitCode, stderr } = await svc(['key', 'show', '--key', path])
    expect(exitCode).toBe(0)
    expect(stderr).toContain(`others can read ${path}`)
  })

  test('are named by --key, or else by SVC_KEY', async () => {
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
    ['a file that is not a key', 'hello', 'not a key file'],
    ['half a key', '{"algorithm":"ed25519","agent_id":"4vJ', 'not a key file'],
  ])('the error for %s is one sentence', async (_, text, sentence) => {
    using folder = temporaryFolder()
    if (text !== undefined) writeFileSync(folder.path('a.key'), text)
    const run = await svc(['whoami', '--key', folder.path('a.key')])
    expect(run).toMatchObject({ exitCode: 2, stdout: '' })
    expect(run.stderr).toContain(sentence)
    expect(run.stderr.trimEnd().split('\n')).toHaveLength(1)
  })

  test('can be exported to PEM and hex, and imported again', async () => {
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
    // An X25519 key has the length of an Ed25519 key, but another purpose.
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
