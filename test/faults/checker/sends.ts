import { type Attempt, ofKind } from '../history/attempts.ts'
import type { Sent } from '../history/calls.ts'
import type { Final } from './final.ts'

/** One message id: who has tried to take it, and who has got it. */
export interface SentId {
  readonly id: string
  readonly attempts: readonly Attempt<'send'>[]
  /** The envelope that was answered 200 or 202; undefined where none was. */
  readonly answered: Sent | undefined
  /**
   * The envelope that there is: answered, or found at the end. Undefined where there is none, or where several may be
   * it.
   */
  readonly accepted: Sent | undefined
  /** There is none at the end, and never was one. */
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
