import type { Message } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { attempt, explain } from '../../../state/failures.ts'
import { notify } from '../../../state/notices.ts'
import { goTo } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Icon } from '../../parts/icon.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Conversation } from '../read/conversation.tsx'
import { MessageView } from '../read/message-view.tsx'

const { sent } = strings

/** A message that this agent sent, with its receipt. */
export function SentPane({ id }: { id: string }): JSX.Element {
  const { context, outbox } = useWorkspace()
  const [message, setMessage] = useState<Message | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const { client, ended } = context

  useEffect(() => {
    client.message(id, { signal: ended }).then(setMessage, (error: unknown) => {
      setProblem(isCode(error, 'not_found') ? strings.mail.notFound : explain(error))
    })
  }, [id])

  async function checkReceipt(): Promise<void> {
    const { status } = await client.receipt(id, { signal: ended })
    const isProcessed = status === 'processed'
    if (message !== undefined) setMessage({ ...message, acked: isProcessed })
    notify(isProcessed ? sent.receiptProcessed : sent.receiptAccepted)
  }

  return (
    <>
      <button type="button" class="quiet back" onClick={() => goTo('sent')}>
        <Icon name="back" />
        {strings.mail.back}
      </button>
      {problem !== undefined && <Empty title={problem} />}
      {message !== undefined && (
        <>
          <div class="sent-state">
            <span class={`badge ${message.acked ? 'good' : 'plain'}`}>{stateOf(message)}</span>
            {message.lane !== 'board' && (
              <BusyButton class="quiet small" onPress={checkReceipt}>
                {sent.receipt}
              </BusyButton>
            )}
            {outbox.sent.value.has(id) && (
              <BusyButton
                class="quiet small"
                title={sent.forgetHint}
                onPress={async () => {
                  await attempt(() => outbox.forget(id))
                  goTo('sent')
                }}
              >
                {sent.forget}
              </BusyButton>
            )}
          </div>
          <MessageView message={message} readFrom="sent" />
          <Conversation message={message} />
        </>
      )}
    </>
  )
}

function stateOf({ acked, lane }: Message): string {
  if (acked) return sent.states.processed
  return lane === 'requests' ? sent.waitsAsRequest : sent.states.accepted
}
