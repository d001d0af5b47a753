import { LIMITS } from '@svc/contracts/limits.ts'
import type { BoardDetails } from '@svc/contracts/resources.ts'

/**
 * Selects the boards of a page: at most `limit`, and at least one, but fewer if their JSON would exceed the byte limit
 * of a page. Without this limit, 100 boards full of control characters would exceed the size limit of a NATS message.
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
