import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('without variables, one of each on port 8080', () => {
  const config = readConfig({})
  expect(config).toMatchObject({
    httpPort: 8080,
    authority: '127.0.0.1:8080',
    databaseUrl: undefined,
    natsUrl: undefined,
  })
  expect(config.dataDir).toMatch(/\.data$/)
  expect(new Set(Object.values(config.replicas))).toEqual(new Set([1]))
})

test('SVC_REPLICAS, and an authority that follows the port', () => {
  const config = readConfig({ SVC_REPLICAS: 'messaging:2,gateway:3', SVC_HTTP_PORT: '9000' })
  expect(config.replicas).toMatchObject({ messaging: 2, gateway: 3, budget: 1 })
  expect(config.authority).toBe('127.0.0.1:9000')
})

test.each([
  ['SVC_REPLICAS', 'messaging'],
  ['SVC_REPLICAS', 'unknown:2'],
  ['SVC_REPLICAS', 'gateway:0'],
  ['SVC_REPLICAS', 'gateway:99'],
  ['SVC_HTTP_PORT', '0'],
  ['SVC_HTTP_PORT', '65536'],
  ['SVC_DATABASE_URL', 'mysql://x'],
  ['SVC_NATS_URL', 'localhost'],
  ['SVC_LOG_LEVEL', 'loud'],
  ['SVC_AUTHORITY', 'http://agents.example.org'],
  ['SVC_AUTHORITY', 'agents.example.org/'],
  ['SVC_CHALLENGE_KEY_FILE', '/nowhere/key'],
])('%s=%s is refused, and the error names the variable', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(name)
})

test('keys come as text or from a file, and are generated if none is given', () => {
  const folder = mkdtempSync(join(tmpdir(), 'svc-config-'))
  try {
    const file = join(folder, 'challenge-key')
    writeFileSync(file, `${'k'.repeat(40)}\n`)
    expect(readConfig({ SVC_CHALLENGE_KEY_FILE: file, SVC_WEBHOOK_SECRET_KEY: 'w'.repeat(40) })).toMatchObject({
      challengeKey: 'k'.repeat(40),
      webhookSecretKey: 'w'.repeat(40),
    })
    expect(readConfig({})).toMatchObject({ challengeKey: undefined, webhookSecretKey: undefined })
  } finally {
    rmSync(folder, { recursive: true })
  }
})

test('all mistakes are reported at once', () => {
  expect(() => readConfig({ SVC_HTTP_PORT: 'x', SVC_REPLICAS: 'y' })).toThrow(/SVC_HTTP_PORT.*SVC_REPLICAS/)
})

test('additional gateways need ports too', () => {
  expect(() => readConfig({ SVC_HTTP_PORT: '65535', SVC_REPLICAS: 'gateway:2' })).toThrow('SVC_HTTP_PORT')
})
