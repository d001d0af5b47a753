import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { labelOf } from '../../../state/agent/people.ts'
import type { Entry } from '../../../state/mail/archive.ts'
import { excerptOf } from '../../../state/mail/excerpt.ts'
import { textOf } from '../../../state/mail/texts.ts'
import type { TurnLink } from '../../../state/mail/turn-links.ts'
import { strings } from '../../../strings.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { SealBadge, TrustBadge } from '../../parts/badges.tsx'
import { BusyButton } from '../../parts/busy-button.tsx'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { BodyBox } from './body.tsx'
import { JsonView } from './json-view.tsx'
import { MessageFacts } from './message-facts.tsx'
import { useOpened } from './use-opened.ts'

const { mail, turns } = strings

interface Properties {
  readonly entry: Entry
  readonly isOwn: boolean
  readonly link: TurnLink | undefined
  readonly onReply: () => void
}

/** One message: who wrote it, whether that is certain, what it answers, its text, and what can be done with it. */
export function Turn({ entry, isOwn, link, onReply }: Properties): JSX.Element {
  const { people, archive, outbox } = useWorkspace()
  const [showsJson, setShowsJson] = useState(false)
  const [showsDetails, setShowsDetails] = useState(false)
  const { message } = entry
  const { id, from } = message.envelope
  const opened = useOpened(message, isOwn ? 'sent' : 'mail')
  return (
    <article class={`turn ${isOwn ? 'own' : 'theirs'}`}>
      {!isOwn && <Avatar who={from} size={32} />}
      <div class="turn-main">
        <header class="turn-head">
          {isOwn ? <span class="name">{mail.you}</span> : <AgentName who={from} />}
          <Time seconds={message.created_at} clock />
          <TurnState entry={entry} isOwn={isOwn} />
          {/* biome-ignore lint/a11y/useSemanticElements: badges are no form */}
          <div class="badges" role="group" aria-label={strings.badges.label}>
            {!(isOwn && opened?.kind === 'open') && <TrustBadge opened={opened} />}
            <SealBadge isSealed={'body_enc' in message.envelope} />
          </div>
          <div class="turn-actions">
            {!isOwn && (
              <button type="button" class="quiet small" onClick={onReply}>
                {mail.reply}
              </button>
            )}
            {!isOwn && !message.acked && (
              <BusyButton class="quiet small" title={mail.acknowledgeHint} onPress={() => archive.acknowledge(id)}>
                {mail.acknowledge}
              </BusyButton>
            )}
            <button
              type="button"
              class="quiet small"
              aria-expanded={showsDetails}
              onClick={() => setShowsDetails(!showsDetails)}
            >
              {mail.details}
            </button>
          </div>
        </header>
        {link !== undefined && <LinkLine link={link} />}
        <BodyBox opened={opened} label={isOwn ? mail.bodyOwn : mail.body(labelOf(people, from))} />
        {showsDetails && (
          <div class="turn-details">
            <MessageFacts message={message} />
            <div class="actions">
              <button type="button" class="small" onClick={() => setShowsJson(true)}>
                {mail.json}
              </button>
              {isOwn && outbox.sent.value.has(id) && (
                <BusyButton class="small" title={turns.forgetHint} onPress={() => outbox.forget(id)}>
                  {turns.forget}
                </BusyButton>
              )}
            </div>
          </div>
        )}
        {showsJson && <JsonView message={message} opened={opened} onClose={() => setShowsJson(false)} />}
      </div>
    </article>
  )
}

/** How far the message has come. */
function TurnState({ entry: { message, hasWaited }, isOwn }: { entry: Entry; isOwn: boolean }): JSX.Element | null {
  const texts = isOwn ? turns.own : turns.received
  if (message.lane === 'requests') return <span class="turn-state waits">{texts.waits}</span>
  if (message.acked) return <span class="turn-state">{texts.acknowledged}</span>
  if (hasWaited) return <span class="turn-state">{texts.accepted}</span>
  return isOwn ? <span class="turn-state">{turns.own.delivered}</span> : null
}

/** Whether the message is a request or an answer, with the beginning of what it answers. */
function LinkLine({ link: { kind, answers, answeredBy } }: { link: TurnLink }): JSX.Element {
  return (
    <p class="turn-link">
      {kind !== 'reply' && <span class={`badge ${kind === 'error' ? 'bad' : 'plain'}`}>{turns.kinds[kind]}</span>}
      {kind === 'request' && <span class="hint">{answeredBy === undefined ? turns.unanswered : turns.answered}</span>}
      {kind !== 'request' &&
        (answers === undefined ? <span class="hint">{turns.answersGone}</span> : <Quote id={answers} />)}
    </p>
  )
}

function Quote({ id }: { id: string }): JSX.Element | null {
  const { archive, people } = useWorkspace()
  const entry = archive.find(id)
  return entry === undefined ? null : (
    <button
      type="button"
      class="quote"
      onClick={() => document.getElementById(`turn-${id}`)?.scrollIntoView({ block: 'center', behavior: 'smooth' })}
    >
      <span class="hidden-text">{turns.answers} </span>
      <QuoteText entry={entry} isOwn={people.isOwn(entry.message.envelope.from)} />
    </button>
  )
}

function QuoteText({ entry: { message }, isOwn }: { entry: Entry; isOwn: boolean }): JSX.Element {
  const opened = useOpened(message, isOwn ? 'sent' : 'mail')
  return <bdi>{opened?.kind === 'open' ? excerptOf(textOf(opened.body)) : mail.sealedPreview}</bdi>
}
