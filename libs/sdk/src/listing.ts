import { AnswerError } from './errors.ts'

export interface Page<Item> {
  readonly items: Item[]
  /** Where the next page begins; empty at the current end. */
  readonly next: string
}

/**
 * A list of the service, read page by page as it is iterated. Nothing is asked for before the iteration begins, and
 * every iteration begins anew.
 */
export interface Listing<Item> extends AsyncIterable<Item> {
  /** The first page alone. */
  page(): Promise<Page<Item>>
  /** Page by page, to keep a place in between: `page.next` is the `after` with which to go on. */
  pages(): AsyncIterable<Page<Item>>
}

/** @param readPage asks for the page after a cursor; undefined: from the start. */
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
        throw new AnswerError('the list does not advance: its next cursor is the one it was given')
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
