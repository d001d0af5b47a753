import type { JsonSchemaType } from '@modelcontextprotocol/server'
import type { TSchema } from '@sinclair/typebox'
import type { Page } from '@svc/sdk/http/listing.ts'
import type { Mailbox } from '../mailbox.ts'
import { createBorder } from '../tools/border.ts'
import { render } from './render.ts'

/**
 * The first items that fit into a result, at least one. The whole result counts, in bytes: what is said about an item, its text, and
 * both again, because a result has everything as text and as structure. The rest of a result stays below 5,000 bytes.
 */
export function fitting<T extends object>(mailbox: Mailbox, schema: TSchema, items: readonly T[]): T[] {
  const border = createBorder(mailbox)
  let left = mailbox.resultCharacters
  const end = items.findIndex((item) => {
    left -= bytesOf(border.show(schema as JsonSchemaType, item))
    return left < 0
  })
  return items.slice(0, end === -1 ? items.length : Math.max(1, end))
}

function bytesOf(item: object): number {
  const [text, structure] = [render({ items: [item] }), item].map((half) => JSON.stringify(half))
  return Buffer.byteLength(`${text}${structure}`)
}

/**
 * Reads a page whose items all fit into a result. Only the service knows the cursor after an item, and gives the one after the last item
 * of a page. So if some items do not fit, a shorter page is read.
 * @param view returns the first items that fit.
 */
export async function fittingPage<Item, View>(
  limit: number,
  read: (pageSize: number) => Promise<Page<Item>>,
  view: (items: readonly Item[]) => View[] | Promise<View[]>,
): Promise<{ views: View[]; next_cursor: string | null }> {
  for (let pageSize = limit; ; ) {
    const { items, next } = await read(pageSize)
    const views = await view(items)
    if (views.length >= items.length) return { views, next_cursor: next === '' ? null : next }
    pageSize = views.length
  }
}
