import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { labelOf } from '../../../state/agent/people.ts'
import { attempt } from '../../../state/failures.ts'
import { readThread, rootOf } from '../../../state/mail/thread.ts'
import { strings } from '../../../strings.ts'
import { SealBadge, TrustBadge } from '../../parts/badges.tsx'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { BodyBox } from './body.tsx'
import { useOpened } from './use-opened.ts'

/** The other messages of a conversation, of both sides, oldest first. */
export function Conversation({ message }: { message: Message }): JSX.Element | null {
  const workspace = useWorkspace()
  const { context, outbox } = workspace
  const [others, setOthers] = useState<readonly Message[]>([])
  const root = rootOf(message)
  const { id } = message.envelope
  const sentHere = outbox.sent.value.size

  useEffect(() => {
    let isShown = true
    const read = (): void => {
      void attempt(() => readThread(context, root)).then((thread) => {
        if (isShown && thread !== undefined) setOthers(thread.filter(({ envelope }) => envelope.id !== id))
      })
    }
    read()
    const stop = workspace.onArrival((event) => {
      if (rootOf(event.message) === root) read()
    })
    return () => {
      isShown = false
      stop()
    }
  }, [root, id, sentHere])

  if (others.length === 0) return null
  return (
    <section class="conversation" aria-label={strings.mail.thread}>
      <h3>{strings.mail.threadEarlier(others.length)}</h3>
      <ol>
        {others.map((other) => (
          <li key={other.envelope.id}>
            <ThreadMessage message={other} />
          </li>
        ))}
      </ol>
    </section>
  )
}

function ThreadMessage({ message }: { message: Message }): JSX.Element {
  const { people } = useWorkspace()
  const { from, to } = message.envelope
  const isOwn = people.isOwn(from)
  const opened = useOpened(message, isOwn ? 'sent' : 'mail')
  return (
    <div class={`thread-message ${isOwn ? 'own' : ''}`}>
      <header class="message-head">
        <AgentName who={from} />
        {isOwn && <bdi class="hint">{strings.sent.to(to)}</bdi>}
        <Time seconds={message.created_at} full />
        {/* biome-ignore lint/a11y/useSemanticElements: badges are no form */}
        <div class="badges" role="group" aria-label={strings.badges.label}>
          <TrustBadge opened={opened} />
          <SealBadge isSealed={'body_enc' in message.envelope} />
        </div>
      </header>
      <BodyBox opened={opened} label={isOwn ? strings.mail.bodyOwn : strings.mail.body(labelOf(people, from))} />
    </div>
  )
}
