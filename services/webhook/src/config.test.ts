import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const KEY = 'k'.repeat(32)
const LEAST = { SVC_NATS_URL: 'nats://n', SVC_DATABASE_URL: 'postgres://u@p', SVC_WEBHOOK_SECRET_KEY: KEY }

test('spec 10.7: defaults', () => {
  expect(readConfig(LEAST)).toEqual({
    natsUrl: 'nats://n',
    databaseUrl: 'postgres://u@p',
    process: { logLevel: 'info' },
    poolSize: 8,
    backoff: [0, 30, 120, 600, 3_600],
    secretKeys: [KEY],
    exemptTargets: new Set(),
    concurrency: 256,
    attemptSeconds: 10,
    leaseSeconds: 15,
    reconcileSeconds: 3,
    streamManagement: 'create',
    securityLog: false,
  })
})

test('several keys, the current one first; targets in lower case', () => {
  const config = readConfig({
    ...LEAST,
    SVC_WEBHOOK_SECRET_KEY: `${'n'.repeat(32)}, ${KEY}`,
    SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS: 'LOCALHOST:8443, [::1]:1',
  })
  expect(config.secretKeys).toEqual(['n'.repeat(32), KEY])
  expect(config.exemptTargets).toEqual(new Set(['localhost:8443', '[::1]:1']))
})

test.each([
  ['SVC_WEBHOOK_SECRET_KEY', 'short'],
  ['SVC_WEBHOOK_SECRET_KEY', `${KEY},short`],
  ['SVC_WEBHOOK_SECRET_KEY', undefined],
  ['SVC_WEBHOOK_BACKOFF_SECONDS', '0,1,2,3'],
  ['SVC_WEBHOOK_BACKOFF_SECONDS', '0,1,2,3,4,5'],
  ['SVC_WEBHOOK_BACKOFF_SECONDS', '0,1,2,3,x'],
  ['SVC_WEBHOOK_BACKOFF_SECONDS', '0,1,2,3,'],
  ['SVC_WEBHOOK_BACKOFF_SECONDS', '0,1,2,3,-4'],
  ['SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', 'localhost'],
  ['SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS', 'https://localhost:1'],
  ['SVC_WEBHOOK_LEASE_SECONDS', '5'],
  ['SVC_WEBHOOK_ATTEMPT_SECONDS', '0'],
  ['SVC_WEBHOOK_CONCURRENCY', '1'],
])('a mistake is reported by the name of its variable: %s=%s', (name, value) => {
  expect(() => readConfig({ ...LEAST, [name]: value })).toThrow(name)
})
