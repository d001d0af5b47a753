import { AnswerError } from '../errors.ts'

export interface Page<Item> {
  readonly items: Item[]
  /** Cursor of the next page. Empty at the current end. */
  readonly next: string
}

/**
 * A list of the service, read page by page during the iteration. No request is sent before the iteration begins, and
 * every iteration begins at the start.
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** Only the first page. */
  page(): Promise<Page<Item>>
  /** The list page by page. To continue later, store `page.next` and pass it as `after`. */
  pages(): AsyncIterable<Page<Item>>
}

/** @param readPage asks for the page after a cursor. Undefined means from the start. */
export function createListing<Item>(
  readPage: (after: string | undefined) => Promise<Page<Item>>,
  start: string | undefined,
): Listing<Item> {
  async function* pages(): AsyncGenerator<Page<Item>, void, undefined> {
    let after = start
    for (;;) {
      const page = await readPage(after)
      yield page
      if (page.next === '') return
      if (page.next === after)
        throw new AnswerError('the list does not advance: its next_cursor equals the cursor of the request')
      after = page.next
    }
  }
  return {
    page: () => readPage(start),
    pages,
    async *[Symbol.asyncIterator]() {
      for await (const page of pages()) yield* page.items
    },
  }
}
