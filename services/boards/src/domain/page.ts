import { LIMITS } from '@svc/contracts/limits.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'

/**
 * The boards that go on a page: `limit` at most, and fewer where their JSON would pass the bytes of a page; at least one.
 * Titles and descriptions of hostile characters make 100 boards longer than a message of NATS may be.
 */
export function takePage(boards: readonly BoardDetails[], limit: number): { boards: BoardDetails[]; more: boolean } {
  const page: BoardDetails[] = []
  let bytes = 0
  for (const board of boards.slice(0, limit)) {
    bytes += Buffer.byteLength(JSON.stringify(board))
    if (page.length > 0 && bytes > LIMITS.pageBytes) break
    page.push(board)
  }
  return { boards: page, more: page.length < boards.length }
}
