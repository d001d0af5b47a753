import { computed } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { attempt } from '../../../state/failures.ts'
import { isUnwanted } from '../../../state/mail/ignored.ts'
import { filterEntries, isFiltering, NO_FILTER } from '../../../state/mail/search.ts'
import { isUnread } from '../../../state/mail/unread.ts'
import { goTo, route } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { VirtualList } from '../../parts/virtual-list.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { FilterBar } from './filter-bar.tsx'
import { MessagePane } from './message-pane.tsx'
import { MessageRow, ROW_HEIGHT } from './message-row.tsx'

const { mail } = strings

/** The inbox or the requests: a list, and the message that was chosen from it. */
export function MailPage({ lane }: { lane: 'inbox' | 'requests' }): JSX.Element {
  const shown = useWorkspace()
  const { mailbox, unread, people, opener } = shown
  const [filter, setFilter] = useState(NO_FILTER)
  const [showsIgnored, setShowsIgnored] = useState(false)
  const { id } = route.value
  const all = mailbox[lane].value
  const unwanted = useMemo(
    () =>
      computed(() => {
        if (lane === 'inbox') return new Set<string>()
        const requests = mailbox.requests.value.map(({ message }) => message)
        return new Set(requests.filter((one) => isUnwanted(one, shown)).map(({ envelope }) => envelope.id))
      }),
    [lane],
  )
  const wanted = showsIgnored ? all : all.filter(({ message }) => !unwanted.value.has(message.envelope.id))
  const place = unread.place.value
  const sources = { people, opener, isUnread: (cursor: number) => isUnread(place, cursor) }
  const entries = filterEntries(wanted, filter, sources)

  return (
    <div class={`panes ${id === undefined ? '' : 'reading'}`}>
      <section class="pane-list" aria-label={mail.list(strings.pages[lane])}>
        <header class="pane-head">
          <h1>{strings.pages[lane]}</h1>
          <button type="button" class="quiet small" onClick={() => unread.markAllRead(mailbox.latest.value)}>
            {mail.markAllRead}
          </button>
        </header>
        <FilterBar filter={filter} onChange={setFilter} />
        {entries.length === 0 ? (
          <NoMessages lane={lane} isFiltered={isFiltering(filter)} />
        ) : (
          <VirtualList
            label={strings.pages[lane]}
            items={entries}
            keyOf={({ message }) => message.envelope.id}
            rowHeight={ROW_HEIGHT}
            row={(entry) => <MessageRow entry={entry} />}
            classOf={({ cursor }) => (isUnread(place, cursor) ? 'unread' : '')}
            chosen={id}
            onChoose={({ message }) => goTo(lane, message.envelope.id)}
            onEnd={() => {
              if (mailbox.state.value === 'idle') void attempt(() => mailbox.loadOlder())
            }}
          />
        )}
        <ListFoot
          count={wanted.length}
          unwanted={unwanted.value.size}
          showsIgnored={showsIgnored}
          onShowIgnored={() => setShowsIgnored(!showsIgnored)}
        />
      </section>
      <section class="pane-reader">
        {id === undefined ? <Empty title={mail.nothingChosen} /> : <MessagePane key={id} id={id} lane={lane} />}
      </section>
    </div>
  )
}

function NoMessages({ lane, isFiltered }: { lane: 'inbox' | 'requests'; isFiltered: boolean }): JSX.Element {
  const { mailbox } = useWorkspace()
  if (isFiltered) return <Empty title={mail.nothingFound} />
  if (mailbox.state.value !== 'complete') return <Empty title={mail.noneLoaded} hint={mail.noneLoadedHint} />
  return lane === 'inbox' ? (
    <Empty title={mail.empty} hint={mail.emptyHint} />
  ) : (
    <Empty title={mail.emptyRequests} hint={mail.emptyRequestsHint} />
  )
}

interface FootProperties {
  /** How many messages of this list are loaded, without those left out. */
  readonly count: number
  readonly unwanted: number
  readonly showsIgnored: boolean
  readonly onShowIgnored: () => void
}

/** How much is loaded, and what is left out. */
function ListFoot({ count, unwanted, showsIgnored, onShowIgnored }: FootProperties): JSX.Element {
  const { mailbox } = useWorkspace()
  const state = mailbox.state.value
  return (
    <footer class="pane-foot">
      <span class="hint" role="status">
        {state === 'loading' ? strings.loading : mail.loaded(count)}
        {state === 'complete' && `, ${mail.thatIsAll}`}
      </span>
      {state !== 'complete' && state !== 'loading' && (
        <button type="button" class="quiet small" onClick={() => void attempt(() => mailbox.loadOlder())}>
          {mail.loadOlder}
        </button>
      )}
      {unwanted > 0 && (
        <button type="button" class="quiet small" aria-pressed={showsIgnored} onClick={onShowIgnored}>
          {showsIgnored ? strings.requests.hideIgnored : strings.requests.showIgnored(unwanted)}
        </button>
      )}
    </footer>
  )
}
