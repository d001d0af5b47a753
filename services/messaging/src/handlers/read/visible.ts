import type { ListedRow } from '../../domain/pages.ts'

/** A row of a list that may hold posts. */
export interface VisibleRow extends ListedRow {
  /** The board of a post; null for a DM. */
  board: string | null
}

/** The result of the last query, and the rows of it that the reader may see. */
interface Visible<Part extends { rows: readonly VisibleRow[] }> {
  readonly part: Part
  readonly rows: readonly Part['rows'][number][]
  /** The last row examined. Set only if rows of refused boards were dropped; all of those are at or before this row. */
  readonly seenTo: Part['rows'][number] | undefined
  /** There may be more rows after `seenTo`. */
  readonly more: boolean
}

interface VisibleOptions<Part> {
  /** At most this many rows per query. */
  limit: number
  look: (withoutBoards: readonly string[]) => Promise<Part>
  /** Returns those of the boards whose posts the reader may see. Never called with an empty list. */
  allow: (boardIds: readonly string[]) => Promise<readonly string[]>
}

const MAX_LOOKS = 4

/**
 * Lists the rows that the reader may see now. It asks `allow` about the boards that the rows name. If some boards are
 * refused, it queries again without them, so that the page is still full. Nearly always the first query is enough.
 * After `MAX_LOOKS` queries it drops the rows of refused boards. The page is then short, and the next one starts after
 * `seenTo`.
 */
export async function listVisible<Part extends { rows: readonly VisibleRow[] }>({
  limit,
  look,
  allow,
}: VisibleOptions<Part>): Promise<Visible<Part>> {
  const allowed = new Set<string>()
  const refused: string[] = []
  for (let looks = 1; ; looks += 1) {
    const part = await look(refused)
    const { rows } = part
    const unknown = boardsOf(rows).filter((board) => !allowed.has(board))
    for (const board of unknown.length === 0 ? [] : await allow(unknown)) allowed.add(board)
    const closed = new Set(unknown.filter((board) => !allowed.has(board)))
    if (closed.size === 0) return { part, rows, seenTo: undefined, more: false }
    if (looks === MAX_LOOKS) return passOver(part, limit, closed)
    refused.push(...closed)
  }
}

function passOver<Part extends { rows: readonly VisibleRow[] }>(
  part: Part,
  limit: number,
  closed: ReadonlySet<string>,
): Visible<Part> {
  // The query reads envelopes only up to the size of a page. The rows after them belong to the next page.
  const unread = part.rows.findIndex(({ envelope }) => envelope === null)
  const seen = unread === -1 ? part.rows : part.rows.slice(0, unread)
  return {
    part,
    rows: seen.filter(({ board }) => board === null || !closed.has(board)),
    seenTo: seen.at(-1),
    more: unread !== -1 || part.rows.length === limit,
  }
}

function boardsOf(rows: readonly VisibleRow[]): string[] {
  return [...new Set(rows.flatMap(({ board }) => (board === null ? [] : [board])))]
}
