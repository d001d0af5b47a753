import type { Envelope } from '@svc/contracts/resources.ts'
import { jcsDigest } from '@svc/envelope/jcs.ts'

const known = new WeakMap<Envelope, string>()

/**
 * Identifies an envelope by its content: an id is chosen by the sender, so a service could show another envelope under it.
 * Remembered for each object, because lists ask for it at every turn.
 */
export function digestOf(envelope: Envelope): string {
  let digest = known.get(envelope)
  if (digest === undefined) {
    digest = computeDigest(envelope)
    known.set(envelope, digest)
  }
  return digest
}

/** An envelope without a canonical form, e.g. with a lone surrogate, is its own text. */
function computeDigest(envelope: Envelope): string {
  try {
    return jcsDigest(envelope)
  } catch {
    return JSON.stringify(envelope)
  }
}
