/** The envelope of a message, as the body of a request. */
import { hash } from 'node:crypto'
import { ServiceError } from '@svc/contracts/errors.ts'
import type { EnvelopeFacts as WireFacts } from '@svc/contracts/messaging.ts'
import { Envelope } from '@svc/contracts/resources.ts'
import { ENVELOPE_MEMBERS, EnvelopeError, type EnvelopeFacts, readEnvelope } from '@svc/envelope/envelope.ts'
import { jcsDigest } from '@svc/envelope/jcs.ts'
import { sizeFault } from '@svc/envelope/size.ts'
import { EXAMPLES } from '../api/examples.ts'
import type { BodyRule } from '../api/operation.ts'

/** An envelope of the right shape and size. */
export interface SizedEnvelope {
  readonly facts: EnvelopeFacts
  /** SHA-256 of the JCS bytes of the envelope, lower-case hex (spec 7.4). */
  readonly digest: string
  /** The envelope as JSON.stringify writes it. This text is stored and returned (spec 6.6). */
  readonly text: string
}

/** An envelope of the right shape that is too large. Its digest is not computed, because that is the most expensive part. */
type OversizedEnvelope = Pick<SizedEnvelope, 'facts'>

/** An envelope of the right shape. */
export type ShapedEnvelope = SizedEnvelope | OversizedEnvelope

/** The rule for an envelope as a body. `schema` only describes the shape; `readEnvelope` checks it. */
export const envelopeBody: BodyRule<ShapedEnvelope> = {
  schema: Envelope,
  examples: { signed: EXAMPLES.signedEnvelope, sealed: EXAMPLES.sealedEnvelope },
  names: ENVELOPE_MEMBERS,
  read({ value, text }) {
    const facts = readFacts(value, text)
    if (text === null || sizeFaultOf(facts) !== undefined) return { facts }
    return { facts, digest: jcsDigest(value, (canonical) => hash('sha256', canonical, 'hex')), text }
  },
}

function readFacts(value: unknown, text: string | null): EnvelopeFacts {
  try {
    return readEnvelope(value, text)
  } catch (error) {
    if (!(error instanceof EnvelopeError)) throw error
    throw new ServiceError(error.code, { detail: error.message, cause: error })
  }
}

function sizeFaultOf({ payloadBytes: bytes, payloadCharacters: characters, to }: EnvelopeFacts): string | undefined {
  return sizeFault({ bytes, characters }, to.kind === 'board')
}

/** The check that follows that of the sender in the order of spec 7.2. @throws ServiceError `message_too_large`. */
export function checkSize(envelope: ShapedEnvelope): SizedEnvelope {
  if ('digest' in envelope) return envelope
  const detail = sizeFaultOf(envelope.facts)
  throw new ServiceError('message_too_large', detail === undefined ? {} : { detail })
}

/** The facts of an envelope as messaging gets them. */
export function wireFacts({ facts, digest }: SizedEnvelope): WireFacts {
  const { id, tsMs, ttl, replyTo, threadId, payloadBytes } = facts
  return {
    id,
    digest,
    ts_ms: tsMs,
    ttl,
    reply_to: replyTo ?? null,
    thread_id: threadId ?? null,
    payload_bytes: payloadBytes,
  }
}
