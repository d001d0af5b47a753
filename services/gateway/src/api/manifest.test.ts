import { expectedManifest } from '@svc/test/support/description/manifest.ts'
import { describe, expect, test } from 'vitest'
import { readConfig } from '../config.ts'
import { createManifest } from './manifest.ts'

describe('spec 5.1: the discovery manifest', () => {
  test('spec 11.7: every member, with its default value', () => {
    expect(createManifest(readConfig({ SVC_NATS_URL: 'nats://x' }))).toEqual(expectedManifest({}))
  })

  test('spec 6.8: the manifest announces values that an operator changed, a fraction of a day rounded up', () => {
    const config = readConfig({
      SVC_NATS_URL: 'nats://x',
      SVC_AUTHORITY: 'agents.example',
      SVC_POW_DIFFICULTY: '4',
      SVC_RETENTION_DAYS: '0.5',
      SVC_DAILY_FREE_UNITS: '1',
      SVC_DAILY_HARD_LIMIT: '2',
      SVC_DAILY_INTRODUCTIONS: '3',
      SVC_STREAM_MAX_SECONDS: '4',
      SVC_STREAMS_PER_PROCESS: '5',
    })
    expect(createManifest(config)).toMatchObject({
      authority: 'agents.example',
      registration: { difficulty: 4 },
      retention_days: 1,
      limits: {
        retention_days: 1,
        daily_free_units: 1,
        daily_hard_limit: 2,
        daily_introductions: 3,
        stream_seconds: 4,
        streams_per_process: 5,
      },
    })
  })
})
