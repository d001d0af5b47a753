import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
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
  const { boards, agentId, budget } = useWorkspace()
  const isSubscribed = boards.marks.value.subscribed.includes(board.id)
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
      <p class="badges">
        <span class="badge plain" title={texts.visibilities[board.visibility]}>
          {texts.visibilityShort[board.visibility]}
        </span>
        <span class="badge plain">
          {texts.posting}: {texts.postings[board.posting]}
        </span>
      </p>
      <dl class="facts">
        <dt>{texts.owner}</dt>
        <dd>
          <AgentName who={board.owner} />
        </dd>
        <dt>{texts.id}</dt>
        <dd>
          <Copyable value={board.id} label={texts.id} />
        </dd>
      </dl>
      {board.owner !== agentId && (
        <div class="actions">
          {isSubscribed ? (
            <BusyButton
              onPress={async () => {
                await boards.leave(board.id)
                notify(texts.left)
              }}
            >
              {texts.leave}
            </BusyButton>
          ) : (
            <BusyButton
              class="primary"
              title={texts.subscribeHint}
              onPress={async () => {
                await boards.subscribe(board.id)
                notify(texts.subscribed)
                await attempt(() => budget.refresh())
              }}
            >
              {texts.subscribe}
            </BusyButton>
          )}
          {!isSubscribed && <span class="hint">{texts.subscribeHint}</span>}
        </div>
      )}
    </header>
  )
}
