import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { filterConversations, isFiltering, NO_FILTER, type Row } from '../../../state/mail/search.ts'
import { goTo, type MailLane, route } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { useShortcut } from '../../parts/use-shortcut.ts'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { ConversationPane } from '../conversation/conversation-pane.tsx'
import { ConversationRow, ROW_HEIGHT } from './conversation-row.tsx'
import { FilterBar } from './filter-bar.tsx'
import { ListFoot } from './list-foot.tsx'
import { NoConversations } from './no-conversations.tsx'

const { mail, shortcuts } = strings

export function InboxPage(): JSX.Element {
  return <MailPage lane="inbox" />
}

export function RequestsPage(): JSX.Element {
  return <MailPage lane="requests" />
}

/** The conversations of the inbox or the requests, and the one that was chosen. */
function MailPage({ lane }: { lane: MailLane }): JSX.Element {
  const { conversations, unread, people, texts, history } = useWorkspace()
  const [filter, setFilter] = useState(NO_FILTER)
  const [showsHidden, setShowsHidden] = useState(false)
  const [activeKey, setActiveKey] = useState<string | undefined>(undefined)
  const { id } = route.value
  const isReading = id !== undefined
  const hidden = lane === 'requests' ? conversations.hidden.value : []
  const listed = [...conversations[lane].value, ...(showsHidden ? hidden : [])]
  const rows = filterConversations(listed, filter, { people, texts })
  const chosen = id === undefined ? undefined : conversations.withMessage(id)?.key
  const open = ({ conversation, found }: Row): void => {
    const newest = conversation.entries.at(-1)?.message ?? conversation.waiting.at(-1)
    goTo(lane, (found?.message ?? newest)?.envelope.id)
  }

  useEffect(() => {
    if (chosen !== undefined) setActiveKey(chosen)
  }, [chosen])

  /** In the list only the active row moves. Beside an open conversation the next one is opened. */
  function move(by: number): void {
    const at = rows.findIndex(({ conversation }) => conversation.key === activeKey)
    const next = rows[at === -1 ? 0 : Math.max(0, Math.min(rows.length - 1, at + by))]
    if (next === undefined) return
    setActiveKey(next.conversation.key)
    if (isReading) open(next)
    else document.querySelector<HTMLElement>('.list')?.focus()
  }

  useShortcut('j', shortcuts.next, () => move(1))
  useShortcut('k', shortcuts.previous, () => move(-1))
  useShortcut('u', shortcuts.back, () => goTo(lane))
  useShortcut('/', shortcuts.search, () => document.querySelector<HTMLElement>('.filters input')?.focus())

  return (
    <div class={`panes ${isReading ? 'reading' : ''}`}>
      <section class="pane-list" aria-label={mail.list(strings.pages[lane])}>
        <header class="pane-head">
          <h1>{strings.pages[lane]}</h1>
          <button
            type="button"
            class="quiet small"
            disabled={conversations.unread.value[lane] === 0}
            onClick={() =>
              unread.markRead(
                listed.flatMap(({ entries }) =>
                  entries.flatMap(({ cursor }) => (cursor === undefined ? [] : [cursor])),
                ),
              )
            }
          >
            {mail.markAllRead}
          </button>
        </header>
        <FilterBar filter={filter} onChange={setFilter} />
        {rows.length === 0 ? (
          <NoConversations
            lane={lane}
            isFiltered={isFiltering(filter)}
            isComplete={history.progress.value.isComplete}
            onClear={() => setFilter(NO_FILTER)}
          />
        ) : (
          <VirtualList
            label={strings.pages[lane]}
            items={rows}
            keyOf={({ conversation }) => conversation.key}
            rowHeight={ROW_HEIGHT}
            row={(row) => <ConversationRow row={row} wanted={filter.text.trim()} />}
            classOf={({ conversation }) => (conversation.unread > 0 ? 'unread' : '')}
            chosen={chosen}
            activeKey={activeKey}
            onActive={setActiveKey}
            onChoose={open}
          />
        )}
        <ListFoot
          isSearching={filter.text.trim() !== ''}
          hidden={hidden.length}
          showsHidden={showsHidden}
          onShowHidden={() => setShowsHidden(!showsHidden)}
        />
      </section>
      <section class="pane-reader" aria-label={mail.thread}>
        {id === undefined ? (
          <Empty title={rows.length === 0 ? '' : mail.nothingChosen} hint={rows.length === 0 ? '' : mail.nothingHint} />
        ) : (
          <ConversationPane key={chosen ?? id} id={id} lane={lane} />
        )}
      </section>
    </div>
  )
}
