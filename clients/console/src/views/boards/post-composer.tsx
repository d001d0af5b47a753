import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { strings } from '../../strings.ts'
import { Composer } from '../mail/write/composer.tsx'
import { useWorkspace } from '../workspace-context.ts'

interface Properties {
  readonly board: BoardDetails
  readonly subscribers: number | undefined
  readonly onPosted: () => void
}

/** Writes a post. The service tells only the owner who the writers are, so a refusal of anyone else comes after sending. */
export function PostComposer({ board, subscribers, onPosted }: Properties): JSX.Element {
  const { drafts, agentId } = useWorkspace()
  const to = `board:${board.id}`
  const hasDraft = drafts.all.value.some((draft) => draft.to === to && draft.replyTo === undefined)
  const [isWriting, setWriting] = useState(hasDraft)
  if (!isWriting) {
    return (
      <div class="actions">
        <button type="button" onClick={() => setWriting(true)}>
          {strings.boards.write}
        </button>
        {board.posting === 'members' && board.owner !== agentId && (
          <span class="hint">{strings.boards.membersPost}</span>
        )}
      </div>
    )
  }
  return (
    <Composer
      fields={{ to, isSealed: false }}
      subscribers={subscribers}
      onDone={(messageId) => {
        setWriting(false)
        if (messageId !== undefined) onPosted()
      }}
      onDiscard={() => setWriting(false)}
    />
  )
}
