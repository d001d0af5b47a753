import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { goTo, type Page, route } from '../state/route.ts'
import { areShortcutsOn, followKeys, SHORTCUTS } from '../state/shortcuts.ts'
import { strings } from '../strings.ts'
import { PAGES } from '../views/pages.ts'
import { useShortcut } from '../views/parts/use-shortcut.ts'
import { KeyReminder } from '../views/start/key-reminder.tsx'
import { StorageTrouble } from '../views/start/storage-trouble.tsx'
import { useWorkspace } from '../views/workspace-context.ts'
import { ServiceBanner } from './service-banner.tsx'
import { ShortcutsDialog } from './shortcuts-dialog.tsx'
import { Sidebar } from './sidebar.tsx'

/** The frame around every page of an agent. */
export function Shell(): JSX.Element {
  const { page } = route.value
  const { preferences } = useWorkspace().context.store
  const View = PAGES[page]
  const main = useRef<HTMLElement>(null)
  const [showsShortcuts, setShowsShortcuts] = useState(false)
  // A new page takes the focus, unless a part of the page already has it. So keyboards and screen readers continue there.
  useEffect(() => {
    if (!main.current?.contains(document.activeElement)) main.current?.focus()
  }, [page])
  useEffect(() => {
    void preferences.get(SHORTCUTS).then((isOn) => {
      areShortcutsOn.value = isOn !== false
    })
    return followKeys()
  }, [])
  useShortcut('?', strings.shortcuts.show, () => setShowsShortcuts(true))
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
      <Sidebar onShortcuts={() => setShowsShortcuts(true)} />
      <main id="content" ref={main} tabIndex={-1} class={`page page-${page}`}>
        <div class="banners">
          <StorageTrouble />
          <ServiceBanner />
          <KeyReminder />
        </div>
        <div class="page-body">
          <View key={page} />
        </div>
      </main>
      <PageShortcuts />
      {showsShortcuts && <ShortcutsDialog onClose={() => setShowsShortcuts(false)} />}
    </div>
  )
}

const LETTERS: Readonly<Record<string, Page>> = {
  i: 'inbox',
  r: 'requests',
  d: 'drafts',
  b: 'boards',
  c: 'contacts',
  s: 'settings',
}

function PageShortcuts(): JSX.Element {
  useShortcut('c', strings.pages.write, () => goTo('write'))
  return (
    <>
      {Object.entries(LETTERS).map(([letter, page]) => (
        <PageShortcut key={letter} letter={letter} page={page} />
      ))}
    </>
  )
}

function PageShortcut({ letter, page }: { letter: string; page: Page }): null {
  useShortcut(`g ${letter}`, strings.shortcuts.goTo(strings.pages[page]), () => goTo(page))
  return null
}
