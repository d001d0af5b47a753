import type { BoardDetails } from '@svc/contracts/resources.ts'

/** `unknown`: only the owner may list the writers. */
export type MayPost = 'yes' | 'no' | 'unknown'

/**
 * Whether an agent may post on a board that it reads, as far as known (spec 8.4).
 * @param facts.isWriter what the service answered. @param facts.hasPosted whether a post of the agent is on the board.
 */
export function mayPost(
  { owner, posting }: Pick<BoardDetails, 'owner' | 'posting'>,
  facts: { readonly agentId: string; readonly isWriter: boolean | undefined; readonly hasPosted: boolean },
): MayPost {
  if (owner === facts.agentId || posting === 'anyone') return 'yes'
  if (facts.isWriter !== undefined) return facts.isWriter ? 'yes' : 'no'
  return facts.hasPosted ? 'yes' : 'unknown'
}
