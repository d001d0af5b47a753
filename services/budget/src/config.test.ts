import { expect, test } from 'vitest'
import { readConfig } from './config.ts'

const CONNECTIONS = { SVC_NATS_URL: 'nats://127.0.0.1', SVC_DATABASE_URL: 'postgres://u@127.0.0.1' }

test('spec 11.7: by default 100 free units, a ceiling of 1000 and 10 introductions a day', () => {
  expect(readConfig(CONNECTIONS).allowances).toEqual({ freeUnits: 100, hardLimit: 1000, introductions: 10 })
  const env = { ...CONNECTIONS, SVC_DAILY_FREE_UNITS: '0', SVC_DAILY_HARD_LIMIT: '5', SVC_DAILY_INTRODUCTIONS: '2' }
  expect(readConfig(env).allowances).toEqual({ freeUnits: 0, hardLimit: 5, introductions: 2 })
})
