import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { attempt, explain, inPassing } from '../../../state/failures.ts'
import { type Conversation, peerOf } from '../../../state/mail/conversations.ts'
import { oneAtATime, readThread, refreshStates } from '../../../state/mail/refresh.ts'
import { goTo, type MailLane } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { useShortcut } from '../../parts/use-shortcut.ts'
import { useWorkspace } from '../../workspace-context.ts'
import { Answer } from './answer.tsx'
import { ConversationHead } from './conversation-head.tsx'
import { RequestBar } from './request-bar.tsx'
import { Turns } from './turns.tsx'

/** The conversation that has a message. A message that was not read yet is read from the service. */
export function ConversationPane({ id, lane }: { id: string; lane: MailLane }): JSX.Element {
  const { conversations, archive, context } = useWorkspace()
  const conversation = conversations.withMessage(id)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const isMissing = conversation === undefined

  useEffect(() => {
    if (!isMissing) return
    context.client.message(id, { signal: context.ended }).then(
      (message) => archive.addMessages([message]),
      (error: unknown) => setProblem(isCode(error, 'not_found') ? strings.mail.notFound : explain(error)),
    )
  }, [id, isMissing])

  if (conversation !== undefined) return <OpenConversation conversation={conversation} id={id} lane={lane} />
  if (problem === undefined) {
    return (
      <p class="loading" role="status">
        {strings.loading}
      </p>
    )
  }
  return (
    <Empty title={problem}>
      <button type="button" onClick={() => goTo(lane)}>
        {strings.mail.back}
      </button>
    </Empty>
  )
}

interface Properties {
  readonly conversation: Conversation
  readonly id: string
  readonly lane: MailLane
}

function OpenConversation({ conversation, id, lane }: Properties): JSX.Element {
  const workspace = useWorkspace()
  const { archive, people } = workspace
  const [repliedTo, setRepliedTo] = useState<string | undefined>(undefined)
  const { entries } = conversation
  const isOwn = (from: string): boolean => people.isOwn(from)
  const latest = useRef(conversation)
  latest.current = conversation
  const requests = entries.filter(({ message }) => message.lane === 'requests' && !isOwn(message.envelope.from))

  useEffect(() => {
    const { root, peer } = conversation
    const refreshNow = oneAtATime(() => refreshStates(workspace, latest.current))
    const refresh = (): void => inPassing(refreshNow())
    if (root !== undefined) inPassing(readThread(workspace, root))
    refresh()
    const stop = workspace.onArrival(({ message }) => {
      if (people.keyOf(peerOf(message.envelope, { isOwn })) === people.keyOf(peer)) refresh()
    })
    const onShown = (): void => {
      if (document.visibilityState === 'visible') refresh()
    }
    document.addEventListener('visibilitychange', onShown)
    return () => {
      stop()
      document.removeEventListener('visibilitychange', onShown)
    }
  }, [conversation.key])
  useShortcut('r', strings.shortcuts.reply, focusComposer)
  useShortcut('e', strings.shortcuts.acknowledge, () => {
    // A request is decided first.
    const open = entries.filter(
      ({ message }) => !message.acked && message.lane === 'inbox' && !isOwn(message.envelope.from),
    )
    void attempt(async () => {
      for (const { message } of open) await archive.acknowledge(message.envelope.id)
    })
  })

  return (
    <div class="conversation">
      <ConversationHead conversation={conversation} lane={lane} />
      <Turns
        conversation={conversation}
        target={id}
        onReply={(messageId) => {
          setRepliedTo(messageId)
          focusComposer()
        }}
      />
      <div class="conversation-foot">
        {requests.length > 0 && <RequestBar requests={requests.map(({ message }) => message)} />}
        {/* A request is decided first. *Reply* answers it without a decision. */}
        {(requests.length === 0 || repliedTo !== undefined) && (
          <Answer
            conversation={conversation}
            repliedTo={repliedTo}
            onForget={() => setRepliedTo(undefined)}
            lane={lane}
          />
        )}
      </div>
    </div>
  )
}

/** It may have to be drawn first. */
function focusComposer(): void {
  requestAnimationFrame(() => document.querySelector<HTMLElement>('.conversation .composer textarea')?.focus())
}
