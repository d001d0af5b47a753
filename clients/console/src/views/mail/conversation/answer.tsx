import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { type Conversation, answeredBy as newestReceived } from '../../../state/mail/conversations.ts'
import { excerptOf } from '../../../state/mail/excerpt.ts'
import { recipientOf } from '../../../state/mail/submit.ts'
import { textOf } from '../../../state/mail/texts.ts'
import { linksOf } from '../../../state/mail/turn-links.ts'
import { goTo, type MailLane } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Icon } from '../../parts/icon.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Composer } from '../write/composer.tsx'

const { write } = strings

interface Properties {
  readonly conversation: Conversation
  /** The message that was chosen to be answered. Otherwise it is the newest one of the other agent. */
  readonly repliedTo: string | undefined
  readonly onForget: () => void
  readonly lane: MailLane
}

/** The composer at the end of a conversation. It knows its recipient. */
export function Answer({ conversation, repliedTo, onForget, lane }: Properties): JSX.Element {
  const { people, context, archive, opener } = useWorkspace()
  const { peer, root, entries } = conversation
  const person = people.find(peer)
  // An id can be written to only if its name is known. The address of another service cannot be written to.
  const to = recipientOf(peer, context.authority.value) === undefined ? person?.name : peer
  const isOwn = (from: string): boolean => people.isOwn(from)
  const chosen = repliedTo === undefined ? undefined : archive.find(repliedTo)?.message
  const answered = chosen ?? newestReceived(conversation, { isOwn })
  const link = answered && linksOf(entries.map(({ message }) => message.envelope)).get(answered.envelope.id)
  const isResponse = link?.kind === 'request' && link.answeredBy === undefined
  const opened = chosen && opener.peek(chosen, 'mail')

  if (to === undefined) {
    return <p class="hint">{isAgentId(peer) ? write.unknownSender : write.otherService(peer)}</p>
  }
  return (
    <>
      {chosen !== undefined && (
        <p class="answering">
          {write.answering}{' '}
          <bdi>{opened?.kind === 'open' ? excerptOf(textOf(opened.body)) : strings.mail.sealedPreview}</bdi>
          <button type="button" class="quiet square" aria-label={write.notAnswering} onClick={onForget}>
            <Icon name="close" />
          </button>
        </p>
      )}
      <Composer
        key={conversation.key}
        fields={{ to }}
        conversation={conversation}
        answer={{
          replyTo: answered?.envelope.id,
          threadId: root,
          type: isResponse ? 'response' : undefined,
        }}
        onDone={(messageId) => {
          onForget()
          if (messageId !== undefined) goTo(lane, messageId)
        }}
      />
    </>
  )
}
