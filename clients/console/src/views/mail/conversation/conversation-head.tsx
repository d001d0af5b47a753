import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import type { Conversation } from '../../../state/mail/conversations.ts'
import { goTo, type MailLane } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { BusyButton } from '../../parts/busy-button.tsx'
import { Copyable } from '../../parts/copy.tsx'
import { Icon } from '../../parts/icon.tsx'
import { AgentName } from '../../parts/name.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Identify, PinKey } from './identify.tsx'

const { mail, contacts: texts } = strings

/** With whom the conversation is, and on demand who that is. */
export function ConversationHead({ conversation, lane }: { conversation: Conversation; lane: MailLane }): JSX.Element {
  const { people, contacts } = useWorkspace()
  const { peer, key } = conversation
  const heading = useRef<HTMLHeadingElement>(null)
  const person = people.find(peer)
  const state = contacts.stateOf(peer)
  // Keyboards and screen readers go on with the conversation that was opened.
  useEffect(() => heading.current?.focus({ preventScroll: true }), [key])
  return (
    <header class="conversation-head">
      {/* Where the list is hidden, its heading is. */}
      <h1 class="hidden-text only-narrow">{strings.pages[lane]}</h1>
      <div class="conversation-title">
        <button type="button" class="quiet square back" aria-label={mail.back} onClick={() => goTo(lane)}>
          <Icon name="back" />
        </button>
        <Avatar who={peer} size={36} />
        <h2 ref={heading} tabIndex={-1}>
          <AgentName who={peer} />
        </h2>
        {state !== undefined && <span class="badge plain">{mail.contactStates[state as 'accepted' | 'blocked']}</span>}
      </div>
      {person === undefined && isAgentId(peer) && <Identify agentId={peer} />}
      {person !== undefined && (
        <details class="who">
          <summary>{mail.who}</summary>
          <dl class="facts">
            <dt>{strings.settings.address}</dt>
            <dd class="code">{peer}</dd>
            <dt>{texts.agentId}</dt>
            <dd>
              <Copyable value={person.agentId} label={texts.agentId} />
            </dd>
            <dt>{strings.settings.publicKey}</dt>
            <dd>
              <Copyable value={person.pubkey} label={strings.settings.publicKey} />
            </dd>
          </dl>
          <div class="actions">
            {person.source !== 'self' && <PinKey person={person} />}
            {state === 'accepted' && (
              <BusyButton class="quiet" onPress={() => contacts.set(peer, 'blocked')}>
                {texts.block}
              </BusyButton>
            )}
            {state !== 'accepted' && person.source !== 'self' && (
              <BusyButton class="quiet" onPress={() => contacts.set(peer, 'accepted')}>
                {mail.acceptContact}
              </BusyButton>
            )}
          </div>
        </details>
      )}
    </header>
  )
}
