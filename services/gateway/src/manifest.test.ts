import { describe, expect, test } from 'vitest'
import { readConfig } from './config.ts'
import { createManifest } from './manifest.ts'

describe('decisions 14: the discovery manifest', () => {
  test('every member with the value of service.md, Limits, and of the decisions', () => {
    expect(createManifest(readConfig({ SVC_NATS_URL: 'nats://x' }))).toEqual({
      service: 'signed-agent-messaging',
      version: '2.0.0',
      authority: '127.0.0.1:8080',
      api: '/v2',
      openapi: '/openapi.json',
      signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: 60 },
      registration: { algorithm: 'sha256', difficulty: 18, challenge_seconds: 300 },
      envelope: {
        canonicalization: 'RFC8785',
        signature: 'ed25519',
        sealing: 'hpke-x25519-hkdf-sha256-chacha20poly1305',
      },
      limits: {
        page_size_min: 1,
        page_size_max: 100,
        page_size_default: 50,
        http_tolerance_seconds: 60,
        http_nonce_hex_min: 32,
        http_nonce_hex_max: 128,
        challenge_seconds: 300,
        name_length_min: 3,
        name_length_max: 32,
        envelope_id_length_min: 8,
        envelope_id_length_max: 80,
        dm_characters: 4000,
        dm_bytes: 16384,
        post_characters: 16000,
        post_bytes: 32768,
        request_bytes: 98304,
        message_past_seconds: 300,
        message_future_seconds: 60,
        retention_days: 30,
        board_title_characters: 120,
        board_description_characters: 2000,
        boards_per_owner: 20,
        memberships_per_board: 100,
        streams_per_identity: 2,
        streams_per_process: 200,
        stream_seconds: 300,
        webhook_secret_length_min: 32,
        webhook_secret_length_max: 256,
        webhook_attempts: 5,
        daily_free_units: 100,
        daily_hard_limit: 1000,
        daily_introductions: 10,
      },
      retention_days: 30,
    })
  })

  test('what an operator has changed is announced', () => {
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
      retention_days: 0.5,
      limits: {
        retention_days: 0.5,
        daily_free_units: 1,
        daily_hard_limit: 2,
        daily_introductions: 3,
        stream_seconds: 4,
        streams_per_process: 5,
      },
    })
  })
})
