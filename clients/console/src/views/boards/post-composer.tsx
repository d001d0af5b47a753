import type { BoardDetails } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { MayPost } from '../../state/boards/may-post.ts'
import { strings } from '../../strings.ts'
import { Composer } from '../mail/write/composer.tsx'
import { BusyButton } from '../parts/busy-button.tsx'

const { boards: texts } = strings

interface Properties {
  readonly board: BoardDetails
  readonly may: MayPost
  readonly isWriting: boolean
  readonly subscribers: number | undefined
  readonly onWriting: (isWriting: boolean) => void
  /** Asks the service whether this agent is a writer. */
  readonly onAsk: () => Promise<void>
  readonly onPosted: () => void
}

/** Writes a post, or says why this agent cannot. */
export function PostComposer(properties: Properties): JSX.Element {
  const { board, may, isWriting, subscribers, onWriting, onAsk, onPosted } = properties
  const actions = useRef<HTMLDivElement>(null)
  const wasWriting = useRef(isWriting)
  // The composer, which had the focus, is gone.
  useEffect(() => {
    if (wasWriting.current && !isWriting) actions.current?.focus()
    wasWriting.current = isWriting
  }, [isWriting])
  if (isWriting) {
    return (
      <Composer
        fields={{ to: `board:${board.id}`, isSealed: false }}
        subscribers={subscribers}
        onDone={(messageId) => {
          onWriting(false)
          if (messageId !== undefined) onPosted()
        }}
        onDiscard={() => onWriting(false)}
      />
    )
  }
  return (
    <div ref={actions} tabIndex={-1} class="actions">
      {may === 'yes' && (
        <button type="button" class="primary" onClick={() => onWriting(true)}>
          {texts.write}
        </button>
      )}
      {may !== 'yes' && (
        <>
          <p class="hint">{may === 'no' ? texts.notWriter : texts.membersPost}</p>
          <BusyButton
            class="small"
            onPress={async () => {
              await onAsk()
              actions.current?.focus()
            }}
          >
            {may === 'no' ? texts.askAgain : texts.askWriter}
          </BusyButton>
        </>
      )}
    </div>
  )
}
