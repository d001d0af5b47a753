import type { Command } from 'commander'
import { wholeNumber } from '../arguments.ts'
import type { Context } from '../context.ts'

/** Options of every command that lists something. */
export interface ListOptions {
  readonly limit?: number
  readonly after?: string
  readonly all?: boolean
}

export function addListOptions(command: Command, cursor: string): Command {
  return command
    .option('--limit <n>', 'items to show, 1 to 100 (default 50)', wholeNumber(1, 100))
    .option('--after <cursor>', `start after ${cursor}`)
    .option('--all', 'show all items')
}

interface Pages<Item> {
  pages(): AsyncIterable<{ readonly items: readonly Item[]; readonly next: string | number }>
}

interface Printing<Item> {
  /** Whether to print all pages. */
  readonly all?: boolean | undefined
  /** Prints one item. */
  readonly show: (item: Item) => void | Promise<void>
  /** The note if there are no items. */
  readonly nothing: string
}

/** Prints the items of the first page, or of all pages. */
export async function printPages<Item>(
  { out }: Context,
  listing: Pages<Item>,
  { all = false, show, nothing }: Printing<Item>,
): Promise<void> {
  let shown = 0
  await out.list(async () => {
    for await (const { items, next } of listing.pages()) {
      for (const item of items) await show(item)
      shown += items.length
      if (all) continue
      if (next !== '' && items.length > 0) out.note(`there may be more: use --after '${next}' or --all`)
      break
    }
  })
  if (shown === 0) out.note(nothing)
}
