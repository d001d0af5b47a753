import type { Envelope } from '@svc/contracts/resources.ts'

/** What a message has to do with the ones before and after it. */
export interface TurnLink {
  /** - `request`: it asks for an answer. - `response`, `error`: it is one. - `reply`: it names a message that it goes back to. */
  readonly kind: 'request' | 'response' | 'error' | 'reply'
  /** The message that it answers. Undefined if that is not known here. */
  readonly answers: string | undefined
  /** For a request: the message that answers it, if there is one. */
  readonly answeredBy: string | undefined
}

/** @param envelopes of one conversation, oldest first. */
export function linksOf(envelopes: readonly Envelope[]): ReadonlyMap<string, TurnLink> {
  const byId = new Map(envelopes.map((envelope) => [envelope.id, envelope]))
  const answers = new Map<string, string>()
  for (const { id, type, reply_to } of envelopes) {
    if ((type === 'response' || type === 'error') && reply_to !== undefined) answers.set(reply_to, id)
  }
  const links = new Map<string, TurnLink>()
  envelopes.forEach(({ id, type, reply_to }, index) => {
    const known = reply_to !== undefined && byId.has(reply_to) ? reply_to : undefined
    if (type === 'request' || type === 'response' || type === 'error') {
      links.set(id, { kind: type, answers: known, answeredBy: answers.get(id) })
    } else if (known !== undefined && known !== envelopes[index - 1]?.id) {
      // A reply to the message just above it needs no words.
      links.set(id, { kind: 'reply', answers: known, answeredBy: undefined })
    }
  })
  return links
}
