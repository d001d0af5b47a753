import type { Message } from '@svc/contracts/resources.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { labelOf } from '../../../state/agent/people.ts'
import { recipientOf } from '../../../state/mail/submit.ts'
import { rootOf } from '../../../state/mail/thread.ts'
import { strings } from '../../../strings.ts'
import { SealBadge, TrustBadge } from '../../parts/badges.tsx'
import { BusyButton } from '../../parts/busy-button.tsx'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Composer } from '../write/composer.tsx'
import { BodyBox } from './body.tsx'
import { Identify, PinKey } from './identify.tsx'
import { JsonView } from './json-view.tsx'
import { MessageFacts } from './message-facts.tsx'
import { RequestBar } from './request-bar.tsx'
import { useOpened } from './use-opened.ts'

const { mail } = strings

/** One message with what is known about its sender, its text, and what can be done with it. */
export function MessageView({ message, readFrom }: { message: Message; readFrom: 'mail' | 'sent' }): JSX.Element {
  const { people, mailbox, context } = useWorkspace()
  const [isReplying, setReplying] = useState(false)
  const [showsJson, setShowsJson] = useState(false)
  const heading = useRef<HTMLHeadingElement>(null)
  const opened = useOpened(message, readFrom)
  const { id, from, to } = message.envelope
  const person = people.find(from)
  const isReceived = !people.isOwn(from)
  // An id can be written to only if its name is known. The address of another service cannot be written to.
  const answerTo = recipientOf(from, context.authority.value) === undefined ? (person?.name ?? '') : from
  // Move the focus here, so that keyboards and screen readers go on with the message that was opened.
  useEffect(() => heading.current?.focus(), [id])

  return (
    <article class="message" aria-labelledby={`message-${id}`}>
      <header class="message-head">
        <h2 id={`message-${id}`} ref={heading} tabIndex={-1}>
          <AgentName who={from} />
        </h2>
        {!isReceived && <bdi class="hint">{strings.sent.to(to)}</bdi>}
        <Time seconds={message.created_at} full />
        {/* biome-ignore lint/a11y/useSemanticElements: badges are no form */}
        <div class="badges" role="group" aria-label={strings.badges.label}>
          <TrustBadge opened={opened} />
          <SealBadge isSealed={'body_enc' in message.envelope} />
        </div>
      </header>
      {isReceived && message.lane === 'requests' && <RequestBar message={message} />}
      {isReceived && person === undefined && isAgentId(from) && <Identify agentId={from} />}
      <BodyBox opened={opened} label={isReceived ? mail.body(labelOf(people, from)) : mail.bodyOwn} />
      <div class="actions">
        {isReceived && (
          // A request has Accept as its first choice.
          <button
            type="button"
            class={message.lane === 'requests' ? '' : 'primary'}
            aria-expanded={isReplying}
            onClick={() => setReplying(!isReplying)}
          >
            {mail.reply}
          </button>
        )}
        {isReceived && (
          <BusyButton title={mail.acknowledgeHint} isDisabled={message.acked} onPress={() => mailbox.acknowledge(id)}>
            {message.acked ? mail.acknowledged : mail.acknowledge}
          </BusyButton>
        )}
        {isReceived && person !== undefined && <PinKey person={person} />}
        <button type="button" class="quiet" onClick={() => setShowsJson(true)}>
          {mail.json}
        </button>
      </div>
      {isReplying && (
        <Composer
          fields={{ to: answerTo, replyTo: id, threadId: rootOf(message) }}
          isReply
          onDone={() => setReplying(false)}
          onDiscard={() => setReplying(false)}
        />
      )}
      <MessageFacts message={message} />
      {showsJson && <JsonView message={message} opened={opened} onClose={() => setShowsJson(false)} />}
    </article>
  )
}
