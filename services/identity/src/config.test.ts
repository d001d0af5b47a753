import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { DEFAULT_RESERVED_NAMES } from './domain/reserved-names.ts'

const KEY = 'k'.repeat(32)
const ENV = { SVC_NATS_URL: 'nats://n', SVC_DATABASE_URL: 'postgres://u@p', SVC_CHALLENGE_KEY: KEY }

test('defaults', () => {
  expect(readConfig(ENV)).toEqual({
    natsUrl: 'nats://n',
    databaseUrl: 'postgres://u@p',
    process: { logLevel: 'info' },
    authority: '127.0.0.1:8080',
    reservedNames: DEFAULT_RESERVED_NAMES,
    securityLog: false,
    powDifficulty: 18,
    challengeKeys: [KEY],
    poolSize: 8,
  })
})

test('the challenge key may be a list that begins with the new key, and no key may be short', () => {
  const old = 'o'.repeat(40)
  expect(readConfig({ ...ENV, SVC_CHALLENGE_KEY: `${KEY}, ${old}` }).challengeKeys).toEqual([KEY, old])
  for (const keys of ['short', `${KEY},short`, `${KEY},`]) {
    expect(() => readConfig({ ...ENV, SVC_CHALLENGE_KEY: keys })).toThrow('SVC_CHALLENGE_KEY')
  }
})

test.each<[string, readonly string[]]>([
  ['', DEFAULT_RESERVED_NAMES],
  ['default', DEFAULT_RESERVED_NAMES],
  ['default, acme,acme-bot', [...DEFAULT_RESERVED_NAMES, 'acme', 'acme-bot']],
  ['acme', ['acme']],
  ['none', []],
])('reserved names %j', (value, names) => {
  expect(readConfig({ ...ENV, SVC_RESERVED_NAMES: value }).reservedNames).toEqual(names)
})

test.each(['Acme', 'ad', 'acme,none', 'acme;root', 'acme bot'])('reserved names cannot be %j', (value) => {
  expect(() => readConfig({ ...ENV, SVC_RESERVED_NAMES: value })).toThrow('SVC_RESERVED_NAMES must be none, or names')
})

test('the challenge key may come from a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-identity-'))
  try {
    const file = join(folder, 'key')
    writeFileSync(file, `${KEY}\n`)
    const { SVC_CHALLENGE_KEY: _, ...env } = ENV
    expect(readConfig({ ...env, SVC_CHALLENGE_KEY_FILE: file }).challengeKeys).toEqual([KEY])
  } finally {
    rmSync(folder, { recursive: true })
  }
})
