import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { findNatsServer, findPostgres, type Machine } from './binaries.ts'

let folder: string
beforeEach(() => {
  folder = realpathSync(mkdtempSync(join(tmpdir(), 'svc-binaries-')))
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

/** A machine without npm packages for engines. */
const machine = (path: string, platform: NodeJS.Platform = 'linux'): Machine => ({
  platform,
  arch: 'riscv64',
  path,
  hasPackages: false,
  hasManagers: false,
})

/** Installs a program that prints this version. */
function install(place: string, name: string, version: string): string {
  const path = join(folder, place, name)
  mkdirSync(join(folder, place), { recursive: true })
  writeFileSync(path, `#!/bin/sh\necho '${version}'\n`)
  chmodSync(path, 0o755)
  return path
}

describe('an engine for which there is no npm package', () => {
  test('NATS is taken from the PATH, the first one that is new enough', async () => {
    install('old', 'nats-server', 'nats-server: v2.10.4')
    const good = install('good', 'nats-server', 'nats-server: v2.14.1')
    const path = ['old', 'good'].map((place) => join(folder, place)).join(delimiter)
    expect(await findNatsServer(machine(path))).toBe(good)
  })

  test('Postgres is taken from the PATH if initdb is in the same folder, also through links', async () => {
    const good = install('lib/bin', 'postgres', 'postgres (PostgreSQL) 18.3 (Debian 18.3-1)')
    install('lib/bin', 'initdb', '')
    mkdirSync(join(folder, 'bin'))
    symlinkSync(good, join(folder, 'bin/postgres'))
    install('alone', 'postgres', 'postgres (PostgreSQL) 18.3')
    const path = ['alone', 'bin'].map((place) => join(folder, place)).join(delimiter)
    expect(await findPostgres(machine(path))).toBe(good)
  })

  test.each([
    ['linux', 'github.com/nats-io/nats-server'],
    ['darwin', '"brew install nats-server"'],
    ['win32', 'WSL'],
    ['aix', 'install nats-server 2.14 or later on the PATH'],
  ] as const)('on %s, one sentence says that it is missing and what to do', async (platform, how) => {
    install('old', 'nats-server', 'nats-server: v2.9.0')
    const failure: Error = await findNatsServer(machine(join(folder, 'old'), platform)).catch((error) => error)
    expect(failure.message).toContain(how)
    expect(failure.message).toContain('is nats-server: v2.9.0')
    expect(failure.message).toMatch(/^No NATS is included for \S+-riscv64, [^\n]+, or set SVC_NATS_URL [^\n]+\.$/)
  })

  test.each(['postgres (PostgreSQL) 17.5', 'postgres (PostgreSQL) 19beta1', 'nonsense'])(
    'Postgres is not %s',
    async (version) => {
      install('bin', 'postgres', version)
      install('bin', 'initdb', '')
      const failure: Error = await findPostgres(machine(join(folder, 'bin'))).catch((error) => error)
      expect(failure.message).toMatch(/^No Postgres is included .+ is .+Postgres 18 is needed, so .+SVC_DATABASE_URL/)
    },
  )
})
