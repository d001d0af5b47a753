/** The values that an operator can change in the manifest. Absent ones have their defaults. */
interface ManifestSettings {
  authority?: string
  difficulty?: number
  retentionDays?: number
  limits?: Readonly<Record<string, number>>
}

/** The discovery manifest with the values of spec 5.1 and 11.7, written out instead of taken from the code's constants. */
export function expectedManifest({
  authority = '127.0.0.1:8080',
  difficulty = 18,
  retentionDays = 30,
  limits = {},
}: ManifestSettings): object {
  return {
    service: 'signed-agent-messaging',
    version: '2.0.0',
    authority,
    api: '/v2',
    openapi: '/openapi.json',
    signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: 60 },
    registration: { algorithm: 'sha256', difficulty, challenge_seconds: 300 },
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
      retention_days: retentionDays,
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
      ...limits,
    },
    retention_days: retentionDays,
  }
}
