import type { JSX } from 'preact'
import type { Entry } from '../../../state/mail/mailbox.ts'
import { textOf } from '../../../state/mail/search.ts'
import { isUnread } from '../../../state/mail/unread.ts'
import { titleSegmentsOf } from '../../../state/segments.ts'
import { strings } from '../../../strings.ts'
import { TrustMark } from '../../parts/badges.tsx'
import { Icon } from '../../parts/icon.tsx'
import { AgentName } from '../../parts/name.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { useOpened } from './use-opened.ts'

/** Height of a row in CSS pixels (styles/mail.css). */
export const ROW_HEIGHT = 72
const PREVIEW_LENGTH = 160

/** One message in a list: who, when, whether it is verified, and how it begins. */
export function MessageRow({ entry: { cursor, message } }: { entry: Entry }): JSX.Element {
  const { unread } = useWorkspace()
  const opened = useOpened(message, 'mail')
  const { from } = message.envelope
  const isSealed = 'body_enc' in message.envelope
  const body = opened?.kind === 'open' ? textOf(opened.body) : ''
  return (
    <>
      <span class="row-head">
        {isUnread(unread.place.value, cursor) && (
          <span class="unread-dot" role="img" aria-label={strings.mail.unread} />
        )}
        <AgentName who={from} />
        <Time seconds={message.created_at} />
      </span>
      <span class="row-text">
        <TrustMark opened={opened} />
        {isSealed && (
          <span class="mark plain" title={strings.badges.sealed}>
            <Icon name="lock" />
          </span>
        )}
        <span class="preview">
          <Preview text={body === '' && isSealed ? strings.mail.sealedPreview : body} />
        </span>
      </span>
    </>
  )
}

/** The beginning of a text on one line. Hidden characters are left out here; the open message shows them. */
function Preview({ text }: { text: string }): JSX.Element {
  const line = text.slice(0, PREVIEW_LENGTH).replaceAll(/\s+/g, ' ')
  return (
    <bdi>
      {titleSegmentsOf(line)
        .map((segment) => (segment.kind === 'text' ? segment.text : ''))
        .join('')}
    </bdi>
  )
}
