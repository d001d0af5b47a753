import { Type } from '@sinclair/typebox'

/** Many clients abort a call after 60 s. */
const DEFAULT_SECONDS = 30
const MAX_SECONDS = 600

export const WaitSeconds = Type.Optional(
  Type.Integer({
    minimum: 0,
    maximum: MAX_SECONDS,
    description: `The most seconds to wait; default ${DEFAULT_SECONDS}. Many clients abort a call after 60 s`,
  }),
)

export function waitSecondsOf(seconds: number | undefined): number {
  return seconds ?? DEFAULT_SECONDS
}
