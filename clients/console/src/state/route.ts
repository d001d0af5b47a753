/** The page that the address shows, e.g. `#/inbox/<message id>`. Addresses hold ids and never text or keys. */
import { signal } from '@preact/signals'

const PAGES = ['inbox', 'requests', 'drafts', 'write', 'boards', 'contacts', 'settings'] as const
export type Page = (typeof PAGES)[number]
/** The pages that list conversations. */
export type MailLane = 'inbox' | 'requests'

interface Route {
  readonly page: Page
  /** The board or draft that the page shows, or a message of the conversation that it shows. */
  readonly id: string | undefined
}

export const route = signal<Route>(parseRoute(''))

/** Follows the address from now on. */
export function followAddress(): void {
  const read = (): void => {
    route.value = parseRoute(location.hash)
  }
  addEventListener('hashchange', read)
  read()
}

export function hrefOf(page: Page, id?: string): string {
  return id === undefined ? `#/${page}` : `#/${page}/${encodeURIComponent(id)}`
}

export function goTo(page: Page, id?: string): void {
  location.hash = hrefOf(page, id)
}

export function parseRoute(hash: string): Route {
  const [name, id] = hash.replace(/^#\/?/, '').split('/').map(decode)
  const page = PAGES.find((candidate) => candidate === name)
  return page === undefined ? { page: 'inbox', id: undefined } : { page, id: id === '' ? undefined : id }
}

function decode(step: string): string {
  try {
    return decodeURIComponent(step)
  } catch {
    return ''
  }
}
