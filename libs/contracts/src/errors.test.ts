import { describe, expect, test } from 'vitest'
import { ERRORS } from './errors.ts'

describe('spec 4.3: the codes of each status', () => {
  const CODES: Record<number, string> = {
    400: `invalid_json invalid_request invalid_envelope invalid_pubkey invalid_name invalid_reference invalid_cursor
      invalid_webhook_url challenge_invalid pow_invalid envelope_timestamp_out_of_range expired recipient_not_local
      confirmation_mismatch`,
    401: 'unauthenticated timestamp_out_of_range signer_unknown signer_revoked signature_invalid',
    403: 'forbidden sender_mismatch admission_denied own_post',
    404: 'not_found recipient_unavailable',
    409: `nonce_replayed id_conflict name_taken key_registered challenge_consumed request_pending board_limit
      membership_limit owner_role agent_revoked`,
    413: 'body_too_large message_too_large',
    415: 'unsupported_media_type',
    429: 'rate_limited budget_exhausted hard_limit_reached introduction_limit_reached stream_limit stream_capacity',
    500: 'internal',
    503: 'unavailable',
  }

  test.each(Object.entries(CODES))('%s', (status, codes) => {
    const found = Object.entries(ERRORS).filter(([, error]) => error.status === Number(status))
    expect(found.map(([code]) => code).sort()).toEqual(codes.split(/\s+/).sort())
  })

  test('no other status', () => {
    expect(new Set(Object.values(ERRORS).map(({ status }) => String(status)))).toEqual(new Set(Object.keys(CODES)))
  })
})
