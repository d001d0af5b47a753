import type { ListedRow } from './domain/pages.ts'

/** A row of a list that has posts in it. */
export interface VisibleRow extends ListedRow {
  /** Of a post; null for a DM. */
  board: string | null
}

/** What a look found, and what of it the reader may see. */
export interface Visible<Part extends { rows: readonly VisibleRow[] }> {
  readonly part: Part
  readonly rows: readonly Part['rows'][number][]
  /** The last row that was looked at, where some before it, or it itself, were passed over. */
  readonly seenTo: Part['rows'][number] | undefined
  /** There may be more rows behind `seenTo`. */
  readonly more: boolean
}

export interface VisibleOptions<Part> {
  /** Rows of one look at most. */
  limit: number
  look: (withoutBoards: readonly string[]) => Promise<Part>
  /** Those of the boards whose posts the reader may see; never asked about none. */
  allow: (boardIds: readonly string[]) => Promise<readonly string[]>
}

const MAX_LOOKS = 4

/**
 * Lists what the reader may see now. Boards are asked about those that the rows name; where some are refused, another look
 * leaves them out, so that a page is full although posts were passed over. Nearly always the first look is the last.
 * After `MAX_LOOKS` the rows of refused boards are taken out of a page, which then is short and goes on behind `seenTo`.
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
  // Envelopes are read up to the size of a page: what is behind them belongs to the next one.
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
