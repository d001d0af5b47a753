import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

test('two URLs are enough, everything else has a default', () => {
  expect(readConfig({ SVC_NATS_URL: 'nats://n', SVC_DATABASE_URL: 'postgres://u@p' })).toEqual({
    natsUrl: 'nats://n',
    databaseUrl: 'postgres://u@p',
    process: { logLevel: 'info' },
    poolSize: 8,
  })
})

test('every mistake is reported at once, by the name of its variable', () => {
  expect(() => readConfig({ SVC_DATABASE_POOL: '0' })).toThrow(/SVC_NATS_URL.*SVC_DATABASE_URL.*SVC_DATABASE_POOL/)
})
