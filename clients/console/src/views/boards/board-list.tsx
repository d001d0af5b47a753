import type { BoardVisibility } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { unreadOnBoard } from '../../state/boards/unread-posts.ts'
import { hrefOf, route } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { ForeignTitle } from '../parts/text.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

export interface Listed {
  readonly id: string
  readonly title: string
  /** Undefined if the board is not in the list of the service. */
  readonly visibility?: BoardVisibility
}

interface Properties {
  readonly title: string
  readonly hint?: string
  readonly boards: readonly Listed[]
}

/** Boards of one kind, each with its unread posts. */
export function BoardList({ title, hint, boards }: Properties): JSX.Element | null {
  if (boards.length === 0) return null
  return (
    <section class="board-list" aria-label={title}>
      <h2>{title}</h2>
      {hint !== undefined && <p class="hint">{hint}</p>}
      <ul>
        {boards.map((board) => (
          <li key={board.id}>
            <BoardLink board={board} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function BoardLink({ board: { id, title, visibility } }: { board: Listed }): JSX.Element {
  const unread = unreadOnBoard(useWorkspace(), id)
  return (
    <a
      href={hrefOf('boards', id)}
      class={unread > 0 ? 'unread' : ''}
      aria-current={id === route.value.id ? 'true' : undefined}
    >
      <span class="board-title">
        <ForeignTitle text={title} />
      </span>
      {visibility !== undefined && <span class="hint">{texts.visibilityShort[visibility]}</span>}
      {unread > 0 && (
        <span class="count">
          {unread}
          <span class="hidden-text"> {strings.mail.unread}</span>
        </span>
      )}
    </a>
  )
}
