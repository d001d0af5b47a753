import type { FunctionComponent, JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { attempt } from '../state/failures.ts'
import { type Page, route } from '../state/route.ts'
import { strings } from '../strings.ts'
import { MailPage } from '../views/mail/read/mail-page.tsx'
import { Sidebar } from './sidebar.tsx'

/** Pages that are loaded when they are opened. The inbox is part of the first screen. */
const LATER: Partial<Record<Page, () => Promise<FunctionComponent>>> = {
  sent: async () => (await import('../views/mail/write/sent-page.tsx')).SentPage,
  drafts: async () => (await import('../views/mail/write/drafts-page.tsx')).DraftsPage,
  write: async () => (await import('../views/mail/write/write-page.tsx')).WritePage,
  boards: async () => (await import('../views/boards/boards-page.tsx')).BoardsPage,
  contacts: async () => (await import('../views/settings/contacts-page.tsx')).ContactsPage,
  settings: async () => (await import('../views/settings/settings-page.tsx')).SettingsPage,
}

/** The frame around every page of an agent. */
export function Shell(): JSX.Element {
  const { page } = route.value
  const main = useRef<HTMLElement>(null)
  // A new page takes the focus, unless a part of the page already has it. So keyboards and screen readers continue there.
  useEffect(() => {
    if (!main.current?.contains(document.activeElement)) main.current?.focus()
  }, [page])
  return (
    <div class="shell">
      {/* biome-ignore lint/a11y/useValidAnchor: it leads to a place on this page; the address names another page */}
      <a
        class="skip"
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          main.current?.focus()
        }}
      >
        {strings.skipToContent}
      </a>
      <Sidebar />
      <main id="content" ref={main} tabIndex={-1} class={`page page-${page}`}>
        {page === 'inbox' || page === 'requests' ? (
          <MailPage key={page} lane={page} />
        ) : (
          <Later key={page} page={page} />
        )}
      </main>
    </div>
  )
}

function Later({ page }: { page: Page }): JSX.Element {
  const [View, setView] = useState<FunctionComponent | undefined>(undefined)
  useEffect(() => {
    // A component is a function, and a function given to a setter would be called.
    void attempt(async () => LATER[page]?.()).then((view) => setView(() => view))
  }, [page])
  return View === undefined ? (
    <p class="loading" role="status">
      {strings.loading}
    </p>
  ) : (
    <View />
  )
}
