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
    .option('--after <cursor>', `begin after ${cursor}`)
    .option('--all', 'show all, page after page')
}

interface Pages<Item> {
  pages(): AsyncIterable<{ readonly items: readonly Item[]; readonly next: string | number }>
}

/**
 * Prints one page, or every one, item by item.
 * @param all every page.
 * @param show prints one item.
 * @param nothing what to say where there is none.
 */
export async function printPages<Item>(
  { out }: Context,
  listing: Pages<Item>,
  all = false,
  show: (item: Item) => void | Promise<void>,
  nothing: string,
): Promise<void> {
  let shown = 0
  await out.list(async () => {
    for await (const { items, next } of listing.pages()) {
      for (const item of items) await show(item)
      shown += items.length
      if (all) continue
      if (next !== '' && items.length > 0) out.note(`there may be more: --after '${next}', or --all`)
      break
    }
  })
  if (shown === 0) out.note(nothing)
}
