import type { JSX } from 'preact'
import type { Entry } from '../../../state/mail/archive.ts'
import { excerptOf } from '../../../state/mail/excerpt.ts'
import type { Row } from '../../../state/mail/search.ts'
import { textOf } from '../../../state/mail/texts.ts'
import { strings } from '../../../strings.ts'
import { Avatar } from '../../parts/avatar.tsx'
import { TrustMark } from '../../parts/badges.tsx'
import { Icon } from '../../parts/icon.tsx'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { useOpened } from '../conversation/use-opened.ts'

const { mail } = strings

/** Height of a row in CSS pixels (styles/lists.css). */
export const ROW_HEIGHT = 72
const SCROLLED_PAST_MS = 120

/** One conversation in a list: with whom, when, how it goes on, and how much is unread. */
export function ConversationRow({ row: { conversation, found }, wanted }: { row: Row; wanted: string }): JSX.Element {
  const { peer, unread, waiting, entries, newestMs } = conversation
  const entry = found ?? entries.at(-1)
  return (
    <>
      <Avatar who={peer} size={40} />
      <span class="row-head">
        <AgentName who={peer} />
        <Time seconds={found?.message.created_at ?? newestMs / 1000} />
      </span>
      <span class="row-text">
        {waiting.length > 0 && found === undefined ? (
          <span class="preview waiting">{mail.waits(waiting.length)}</span>
        ) : (
          entry !== undefined && <EntryPreview entry={entry} wanted={wanted} />
        )}
        {unread > 0 && (
          <span class="count">
            {unread}
            <span class="hidden-text"> {mail.unread}</span>
          </span>
        )}
      </span>
    </>
  )
}

function EntryPreview({ entry: { message }, wanted }: { entry: Entry; wanted: string }): JSX.Element {
  const { people } = useWorkspace()
  const isOwn = people.isOwn(message.envelope.from)
  const opened = useOpened(message, isOwn ? 'sent' : 'mail', SCROLLED_PAST_MS)
  const isSealed = 'body_enc' in message.envelope
  const body = opened?.kind === 'open' ? textOf(opened.body) : undefined
  const text = body === undefined ? (isSealed ? mail.sealedPreview : '') : excerptOf(body, wanted)
  return (
    <>
      {!isOwn && <TrustMark opened={opened} />}
      {isSealed && (
        <span class="mark plain" title={strings.badges.sealed}>
          <Icon name="lock" />
        </span>
      )}
      <span class="preview">
        {isOwn && <span class="by-you">{mail.byYou} </span>}
        {body?.trim() === '' ? <em>{mail.emptyBody}</em> : <bdi>{text}</bdi>}
      </span>
    </>
  )
}
