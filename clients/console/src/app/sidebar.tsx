import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { unitsLeft } from '../state/agent/budget.ts'
import { shortId } from '../state/agent/short-id.ts'
import { unreadPosts } from '../state/boards/unread-posts.ts'
import { hrefOf, type Page, route } from '../state/route.ts'
import { vault } from '../state/session.ts'
import { strings } from '../strings.ts'
import { Avatar } from '../views/parts/avatar.tsx'
import { Icon } from '../views/parts/icon.tsx'
import { useWorkspace } from '../views/workspace-context.ts'
import { AgentsDialog } from './agents-dialog.tsx'
import { LiveState } from './live-state.tsx'

const ENTRIES: readonly Page[] = ['inbox', 'requests', 'drafts', 'boards', 'contacts', 'settings']

/** @param properties.onShortcuts shows the list of the keys. */
export function Sidebar({ onShortcuts }: { onShortcuts: () => void }): JSX.Element {
  const workspace = useWorkspace()
  const [isChoosing, setChoosing] = useState(false)
  const { page } = route.value
  const counts: Partial<Record<Page, number>> = {
    ...workspace.conversations.unread.value,
    boards: unreadPosts(workspace),
    drafts: workspace.drafts.all.value.length,
  }
  const name = workspace.context.name.value ?? strings.start.unnamed
  return (
    <header class="sidebar">
      <div class="sidebar-top">
        <button type="button" class="agent-button" onClick={() => setChoosing(true)}>
          <span class="hidden-text">{strings.agents.open}</span>
          <Avatar who={workspace.agentId} size={28} />
          <span class="agent-card">
            <bdi class="name">{name}</bdi>
            <bdi class="id">{shortId(workspace.agentId)}</bdi>
          </span>
          <Icon name="swap" />
        </button>
        <a class="button primary write" href={hrefOf('write')} aria-current={page === 'write' ? 'page' : undefined}>
          <Icon name="write" />
          <span>{strings.pages.write}</span>
        </a>
      </div>
      <nav aria-label={strings.navigation}>
        <ul>
          {ENTRIES.map((entry) => (
            <li key={entry}>
              <a href={hrefOf(entry)} aria-current={entry === page ? 'page' : undefined}>
                <Icon name={entry} />
                <span>{strings.pages[entry]}</span>
                {(counts[entry] ?? 0) > 0 && (
                  <span class={`count ${entry === 'drafts' ? 'plain' : ''}`}>
                    {strings.count(counts[entry] ?? 0, entry === 'drafts' || workspace.history.knowsUnread)}
                    {entry !== 'drafts' && <span class="hidden-text"> {strings.mail.unread}</span>}
                  </span>
                )}
              </a>
            </li>
          ))}
        </ul>
      </nav>
      <div class="sidebar-foot">
        <LiveState />
        <BudgetLine />
        <button type="button" class="quiet shortcuts-button" onClick={onShortcuts}>
          <Icon name="keyboard" />
          {strings.shortcuts.title}
        </button>
        <button type="button" class="quiet" title={strings.agents.lockHint} onClick={() => vault.lock()}>
          <Icon name="lock" />
          {strings.agents.lock}
        </button>
      </div>
      {isChoosing && <AgentsDialog onClose={() => setChoosing(false)} />}
    </header>
  )
}

function BudgetLine(): JSX.Element | null {
  const budget = useWorkspace().budget.now.value
  if (budget === undefined) return null
  return (
    <a class="budget-line" href={hrefOf('settings')}>
      {strings.settings.leftToday(unitsLeft(budget))}
    </a>
  )
}
