import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Copyable } from '../parts/copy.tsx'
import { AgentName } from '../parts/name.tsx'
import { ForeignText, ForeignTitle } from '../parts/text.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

interface Properties {
  readonly board: BoardDetails
  readonly isWriter: boolean | undefined
  readonly onWriter: () => void
  /** The board was just created, and the dialog, which had the focus, is gone. */
  readonly hasFocus: boolean
}

export function BoardHead({ board, isWriter, onWriter, hasFocus }: Properties): JSX.Element {
  const { agentId } = useWorkspace()
  const title = useRef<HTMLHeadingElement>(null)
  useEffect(() => {
    if (hasFocus) title.current?.focus()
  }, [hasFocus])
  return (
    <header class="board-head">
      <h2 ref={title} tabIndex={-1}>
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
      {board.owner !== agentId && <Subscription board={board} isWriter={isWriter === true} onWriter={onWriter} />}
    </header>
  )
}

interface SubscriptionProperties {
  readonly board: BoardDetails
  readonly isWriter: boolean
  readonly onWriter: () => void
}

function Subscription({ board, isWriter, onWriter }: SubscriptionProperties): JSX.Element | null {
  const { boards, archive, unread, budget } = useWorkspace()
  const actions = useRef<HTMLDivElement>(null)
  // Each of the two buttons is replaced by the other one when it was pressed.
  const keepFocus = (): void => actions.current?.focus()
  if (!boards.marks.value.subscribed.includes(board.id)) {
    if (isWriter) return null
    return (
      <div ref={actions} tabIndex={-1} class="actions">
        <BusyButton
          class="primary"
          onPress={async () => {
            const isWriter = await boards.subscribe(board.id)
            notify(isWriter ? texts.writersGet : texts.subscribed)
            if (isWriter) onWriter()
            keepFocus()
            await attempt(() => budget.refresh())
          }}
        >
          {texts.subscribe}
        </BusyButton>
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
      <span class="hint">
        {texts.subscribedHere}
        {board.posting === 'members' && ` ${texts.leaveWriter}`}
      </span>
    </div>
  )
}
