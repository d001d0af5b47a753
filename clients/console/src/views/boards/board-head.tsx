import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useRef } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Copyable } from '../parts/copy.tsx'
import { AgentName } from '../parts/name.tsx'
import { ForeignText, ForeignTitle } from '../parts/text.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

export function BoardHead({ board }: { board: BoardDetails }): JSX.Element {
  const { agentId } = useWorkspace()
  return (
    <header class="board-head">
      <h2>
        <ForeignTitle text={board.title} />
      </h2>
      {board.description !== '' && (
        <div class="body">
          <ForeignText text={board.description} />
        </div>
      )}
      <dl class="facts">
        <dt>{texts.visibility}</dt>
        <dd>
          {texts.visibilityShort[board.visibility]}: {texts.visibilities[board.visibility]}
        </dd>
        <dt>{texts.posting}</dt>
        <dd>{texts.postings[board.posting]}</dd>
        <dt>{texts.owner}</dt>
        <dd>
          <AgentName who={board.owner} />
        </dd>
        <dt>{texts.id}</dt>
        <dd>
          <Copyable value={board.id} label={texts.id} />
        </dd>
      </dl>
      {board.owner !== agentId && <Subscription board={board} />}
    </header>
  )
}

function Subscription({ board }: { board: BoardDetails }): JSX.Element {
  const { boards, archive, unread } = useWorkspace()
  const actions = useRef<HTMLDivElement>(null)
  // Each of the two buttons is replaced by the other one when it was pressed.
  const keepFocus = (): void => actions.current?.focus()
  if (!boards.marks.value.subscribed.includes(board.id)) {
    return (
      <div ref={actions} tabIndex={-1} class="actions">
        <Subscribe boardId={board.id} onDone={keepFocus} />
        <span class="hint">{texts.subscribeHint}</span>
      </div>
    )
  }
  return (
    <div ref={actions} tabIndex={-1} class="actions">
      <BusyButton
        onPress={async () => {
          await boards.leave(board.id)
          unread.markRead(archive.posts.value.get(board.id) ?? [])
          notify(texts.left)
          keepFocus()
        }}
      >
        {texts.leave}
      </BusyButton>
      <span class="hint">{texts.subscribedHere}</span>
    </div>
  )
}

export function Subscribe({ boardId, onDone }: { boardId: string; onDone: () => void }): JSX.Element {
  const { boards, budget } = useWorkspace()
  return (
    <BusyButton
      class="primary"
      title={texts.subscribeHint}
      onPress={async () => {
        await boards.subscribe(boardId)
        notify(texts.subscribed)
        onDone()
        await attempt(() => budget.refresh())
      }}
    >
      {texts.subscribe}
    </BusyButton>
  )
}
