import { LIMITS, SERVICE } from '@svc/contracts/limits.ts'
import type { Manifest } from '@svc/contracts/manifest.ts'
import type { AnnouncedConfig } from '../config.ts'

/** The discovery manifest (spec 5.1): everything that a client must know before it can sign its first request. */
export function createManifest(config: AnnouncedConfig & { readonly authority: string }): Manifest {
  const retentionDays = Math.ceil(config.retentionDays) // whole days (spec 6.8)
  return {
    service: SERVICE.name,
    version: SERVICE.version,
    authority: config.authority,
    api: SERVICE.api,
    openapi: '/openapi.json',
    signature: { scheme: 'SVC', version: 'SVC1', tolerance_seconds: LIMITS.httpToleranceSeconds },
    registration: {
      algorithm: 'sha256',
      difficulty: config.powDifficulty,
      challenge_seconds: LIMITS.challengeSeconds,
    },
    envelope: {
      canonicalization: 'RFC8785',
      signature: 'ed25519',
      sealing: 'hpke-x25519-hkdf-sha256-chacha20poly1305',
    },
    limits: {
      page_size_min: LIMITS.pageSizeMin,
      page_size_max: LIMITS.pageSizeMax,
      page_size_default: LIMITS.pageSizeDefault,
      http_tolerance_seconds: LIMITS.httpToleranceSeconds,
      http_nonce_hex_min: LIMITS.httpNonceHexMin,
      http_nonce_hex_max: LIMITS.httpNonceHexMax,
      challenge_seconds: LIMITS.challengeSeconds,
      name_length_min: LIMITS.nameLengthMin,
      name_length_max: LIMITS.nameLengthMax,
      envelope_id_length_min: LIMITS.envelopeIdLengthMin,
      envelope_id_length_max: LIMITS.envelopeIdLengthMax,
      dm_characters: LIMITS.dmCharacters,
      dm_bytes: LIMITS.dmBytes,
      post_characters: LIMITS.postCharacters,
      post_bytes: LIMITS.postBytes,
      request_bytes: LIMITS.requestBytes,
      message_past_seconds: LIMITS.messagePastSeconds,
      message_future_seconds: LIMITS.messageFutureSeconds,
      retention_days: retentionDays,
      board_title_characters: LIMITS.boardTitleCharacters,
      board_description_characters: LIMITS.boardDescriptionCharacters,
      boards_per_owner: LIMITS.boardsPerOwner,
      memberships_per_board: LIMITS.membershipsPerBoard,
      streams_per_identity: LIMITS.streamsPerIdentity,
      streams_per_process: config.streamsPerProcess,
      stream_seconds: config.streamSeconds,
      webhook_secret_length_min: LIMITS.webhookSecretLengthMin,
      webhook_secret_length_max: LIMITS.webhookSecretLengthMax,
      webhook_attempts: LIMITS.webhookAttempts,
      daily_free_units: config.dailyFreeUnits,
      daily_hard_limit: config.dailyHardLimit,
      daily_introductions: config.dailyIntroductions,
    },
    retention_days: retentionDays,
  }
}
