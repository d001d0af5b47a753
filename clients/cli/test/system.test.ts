import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { startService } from '@svc/sdk/test/agents.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { findSvc } from '@svc/test/support/run/svc.ts'
import { type SharedSystem, shareSystem } from '@svc/test/support/system/shared-system.ts'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { svc, temporaryFolder } from './run.ts'

const run = promisify(execFile)
const MAIN = await findSvc()

let system: SharedSystem

beforeAll(async () => {
  system = await shareSystem('usual')
})
afterAll(() => system?.[Symbol.asyncDispose]())

function url(): string {
  return system.urls[0] ?? ''
}

describe('svc admin grant', () => {
  const AGENT = '4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKiq'
  const grant = (args: string[], env: NodeJS.ProcessEnv) =>
    svc(['admin', 'grant', ...args, '--reason', 'a test'], { env })

  test('spec 11.4: grants once per reference, reports a repeat, and refuses other values', async () => {
    using folder = temporaryFolder()
    await svc(['keygen', '--key', folder.path('a.key')])
    const as = (...args: string[]) => svc([...args, '--key', folder.path('a.key'), '--url', url()])
    await as('register', 'granted')
    const [{ agent_id } = {}] = (await as('key', 'show', '--json')).documents<{ agent_id: string }>()
    const env = { SVC_NATS_URL: system.nats.urlFor('admin') }
    const args = [String(agent_id), '50', 'ref 1']
    expect(await grant([...args, '--json'], env)).toMatchObject({
      exitCode: 0,
      stdout: '{"granted":true,"credit_balance":50}\n',
    })
    expect((await grant(args, env)).stdout).toContain('nothing changed; balance 50')
    const other = await grant([String(agent_id), '51', 'ref 1'], env)
    expect(other).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('(id_conflict)') })
    expect((await as('budget', '--json')).documents()).toMatchObject([{ credit_balance: 50 }])
  })

  test('finds NATS in the data folder of the local stack', async () => {
    using folder = temporaryFolder()
    writeFileSync(folder.path('admin-nats-url'), system.nats.urlFor('admin'))
    const env = { SVC_DATA_DIR: folder.path('.') }
    expect(await grant([AGENT, '1', 'by folder'], env)).toMatchObject({ exitCode: 0 })
    expect(await grant([AGENT, '1', 'by folder'], { SVC_DATA_DIR: folder.path('absent') })).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('no NATS URL'),
    })
  })

  test.each([
    ['an invalid agent id', ['alice', '1', 'r'], 'not an agent id'],
    ['no units', [AGENT, '0', 'r'], 'units'],
    ['too many units', [AGENT, '1000000001', 'r'], 'units'],
    ['units that are not a number', [AGENT, '1e3', 'r'], 'units'],
    ['no reference', [AGENT, '1', ''], 'reference'],
    ['an invalid URL', [AGENT, '1', 'r', '--nats-url', 'nowhere'], 'the URL of NATS is not a valid URL'],
    ['a URL with another scheme', [AGENT, '1', 'r', '--nats-url', 'http://nats'], 'has the scheme http://'],
  ])('%s is a usage error', async (_, args, sentence) => {
    expect(await grant(args, {})).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining(sentence) })
  })

  test('takes the login from a file, as the services do, and names a mistake', async () => {
    using folder = temporaryFolder()
    const { host, username, password } = new URL(system.nats.urlFor('admin'))
    writeFileSync(folder.path('url'), `nats://${host}\n`)
    writeFileSync(folder.path('password'), `${password}\n`)
    const env = { SVC_NATS_URL_FILE: folder.path('url'), SVC_NATS_USER: username }
    const given = { ...env, SVC_NATS_PASSWORD_FILE: folder.path('password') }
    expect(await grant([AGENT, '1', 'by file'], given)).toMatchObject({ exitCode: 0 })
    const missing = { ...env, SVC_NATS_PASSWORD_FILE: folder.path('none') }
    const sentence = `SVC_NATS_PASSWORD_FILE is ${folder.path('none')}, which does not exist`
    expect(await grant([AGENT, '1', 'r'], missing)).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining(sentence),
    })
  })

  test('fails at once if NATS does not run, and does not show the password', async () => {
    const run = await grant([AGENT, '1', 'r'], { SVC_NATS_URL: 'nats://admin:secret@127.0.0.1:9' })
    expect(run).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('NATS at 127.0.0.1:9') })
    expect(run.stderr).not.toContain('secret')
  })

  test('does not send the password without TLS if the URL asks for TLS', async () => {
    const url = system.nats.urlFor('admin').replace('nats:', 'tls:')
    const run = await grant([AGENT, '1', 'r'], { SVC_NATS_URL: url })
    expect(run).toMatchObject({ exitCode: 3, stderr: expect.stringContaining('offers no TLS') })
  })
})

describe('the process', () => {
  function start(args: string[]) {
    const child = spawn(process.execPath, [MAIN, ...args], { env: ENVIRONMENT })
    return { child, stdout: text(child.stdout), stderr: text(child.stderr), ended: once(child, 'exit') }
  }

  test('ends with the exit code of the command', async () => {
    const { ended, stdout } = start(['--version'])
    expect((await ended)[0]).toBe(0)
    expect(await stdout).toBe('2.0.0\n')
    expect((await start(['sned']).ended)[0]).toBe(2)
  })

  test('ends without an error when the reader of its output exits', async () => {
    // sh prints the exit code of svc to stderr, which stays open.
    const script = '{ "$0" "$1" --help; echo $? >&2; } | true'
    const { stdout, stderr } = await run('sh', ['-c', script, process.execPath, MAIN])
    expect({ stdout, stderr }).toEqual({ stdout: '', stderr: '0\n' })
  })

  test('ends at once when interrupted', async () => {
    await using service = await startService()
    service.meet('GET /v2/health', { kind: 'hang' })
    const { child, ended, stderr } = start(['health', '--url', service.url])
    await eventually(() => service.requests.length > 0)
    child.kill('SIGINT')
    expect((await ended)[0]).toBe(130)
    expect(await stderr).toBe('')
  })
})
