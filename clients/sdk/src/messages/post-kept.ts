import type { Envelope, SendResult } from '@svc/contracts/resources.ts'
import { isCode } from '../errors.ts'

/**
 * Posts an envelope that is kept. If it became too old before it was accepted, posts a new one with its id. A repeat of an
 * accepted envelope is never refused (spec 7.4), so the old one was never accepted.
 * @param renew composes the message again under its id, and keeps the new envelope.
 */
export async function postKept(
  envelope: Envelope,
  post: (envelope: Envelope) => Promise<SendResult>,
  renew: () => Promise<Envelope>,
): Promise<SendResult> {
  try {
    return await post(envelope)
  } catch (error) {
    if (!isCode(error, 'envelope_timestamp_out_of_range') && !isCode(error, 'expired')) throw error
    return post(await renew())
  }
}
