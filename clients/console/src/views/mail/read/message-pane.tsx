import type { Message } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { explain } from '../../../state/failures.ts'
import { goTo, type Page } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Conversation } from './conversation.tsx'
import { MessageView } from './message-view.tsx'

/** The message that was chosen, read from the list or from the service, and the rest of its conversation. */
export function MessagePane({ id, lane }: { id: string; lane: Page }): JSX.Element {
  const { mailbox, unread, context } = useWorkspace()
  const [asked, setAsked] = useState<Message | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  // The list has the newest state of a message. Reading the lists here makes this view follow them.
  const listed = [...mailbox.inbox.value, ...mailbox.requests.value].find(({ message }) => message.envelope.id === id)
  const message = listed?.message ?? asked

  useEffect(() => {
    if (listed !== undefined) {
      unread.markRead(listed.cursor)
      return
    }
    context.client.message(id, { signal: context.ended }).then(setAsked, (error: unknown) => {
      setProblem(isCode(error, 'not_found') ? strings.mail.notFound : explain(error))
    })
  }, [id, listed?.cursor])

  return (
    <>
      <button type="button" class="quiet back" onClick={() => goTo(lane)}>
        <Icon name="back" />
        {strings.mail.back}
      </button>
      {problem !== undefined && message === undefined && <Empty title={problem} />}
      {message !== undefined && (
        <>
          <MessageView message={message} readFrom="mail" />
          <Conversation message={message} />
        </>
      )}
    </>
  )
}
