/** The discovery manifest (spec 5.1), for the gateway and its OpenAPI description. */
import { type Static, Type } from '@sinclair/typebox'
import { SERVICE } from './limits.ts'
import { closed } from './resources.ts'

const seconds = Type.Integer({ description: 'Seconds' })
const count = Type.Integer()

/** The members of `limits`, in the order of spec 11.7. */
const Limits = closed({
  page_size_min: count,
  page_size_max: count,
  page_size_default: count,
  http_tolerance_seconds: seconds,
  http_nonce_hex_min: count,
  http_nonce_hex_max: count,
  challenge_seconds: seconds,
  name_length_min: count,
  name_length_max: count,
  envelope_id_length_min: count,
  envelope_id_length_max: count,
  dm_characters: count,
  dm_bytes: count,
  post_characters: count,
  post_bytes: count,
  request_bytes: count,
  message_past_seconds: seconds,
  message_future_seconds: seconds,
  retention_days: count,
  board_title_characters: count,
  board_description_characters: count,
  boards_per_owner: count,
  memberships_per_board: count,
  streams_per_identity: count,
  streams_per_process: count,
  stream_seconds: seconds,
  webhook_secret_length_min: count,
  webhook_secret_length_max: count,
  webhook_attempts: count,
  daily_free_units: count,
  daily_hard_limit: count,
  daily_introductions: count,
})

export const Manifest = closed({
  service: Type.Literal(SERVICE.name),
  version: Type.Literal(SERVICE.version),
  authority: Type.String({ description: 'Line 2 of the signed string, and the end of every address' }),
  api: Type.Literal(SERVICE.api),
  openapi: Type.Literal('/openapi.json'),
  signature: closed({ scheme: Type.Literal('SVC'), version: Type.Literal('SVC1'), tolerance_seconds: seconds }),
  registration: closed({
    algorithm: Type.Literal('sha256'),
    difficulty: Type.Integer({ maximum: 256, description: 'Leading zero bits of a new challenge' }),
    challenge_seconds: seconds,
  }),
  envelope: closed({
    canonicalization: Type.Literal('RFC8785'),
    signature: Type.Literal('ed25519'),
    sealing: Type.Literal('hpke-x25519-hkdf-sha256-chacha20poly1305'),
  }),
  limits: Limits,
  retention_days: Type.Integer({ description: 'Whole days, rounded up' }),
})
export type Manifest = Static<typeof Manifest>
