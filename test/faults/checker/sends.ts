import { type Attempt, ofKind } from '../history/attempts.ts'
import type { Sent } from '../history/calls.ts'
import type { Final } from './final.ts'

/** One message id, and the attempts to use it. */
export interface SentId {
  readonly id: string
  readonly attempts: readonly Attempt<'send'>[]
  /** The envelope that got a 200 or 202; undefined if there is none. */
  readonly answered: Sent | undefined
  /** The envelope with this id, as answered or as found at the end. Undefined if there is none, or if several envelopes may have it. */
  readonly accepted: Sent | undefined
  /** No message with this id exists at the end, and none ever did. */
  readonly refused: boolean
}

export function sendsById(attempts: readonly Attempt[], final: Final): ReadonlyMap<string, SentId> {
  const stored = new Map(final.messages.map((message) => [message.id, message]))
  const shown = new Map(final.agents.flatMap(({ exported }) => exported.map(({ id, digest }) => [id, digest] as const)))
  const grouped = Map.groupBy(ofKind(attempts, 'send'), ({ call }) => call.sent.id)
  return new Map(
    [...grouped].map(([id, tries]) => {
      const answered = tries.find(({ status }) => status === 200 || status === 202)?.call.sent
      const row = stored.get(id)
      const digest = shown.get(id)
      const candidates = tries.filter(
        ({ call, unknown }) =>
          unknown && row?.sender === call.sent.from && (digest === undefined || digest === call.sent.digest),
      )
      const digests = new Set(candidates.map(({ call }) => call.sent.digest))
      const found = row !== undefined && digests.size === 1 ? candidates[0]?.call.sent : undefined
      return [id, { id, attempts: tries, answered, accepted: answered ?? found, refused: row === undefined }]
    }),
  )
}
