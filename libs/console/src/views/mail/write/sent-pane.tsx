import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { attempt, explain, hasCode } from '../../../state/failures.ts'
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
      setProblem(hasCode(error, 'not_found') ? strings.mail.notFound : explain(error))
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
          {message.lane !== 'board' && <AcceptOffer to={message.envelope.to} />}
          <MessageView message={message} readFrom="sent" />
          <Conversation message={message} />
        </>
      )}
    </>
  )
}

/** Without it, the answers of a recipient who is not a contact would wait as requests, or be refused. */
function AcceptOffer({ to }: { to: string }): JSX.Element | null {
  const { people, contacts, settings, budget, agentId } = useWorkspace()
  const name = to.split('@')[0]
  const policy = settings.identity.value?.inbox_policy
  const recipient = [...people.known.value.values()].find((person) => person.name === name)
  if (recipient?.name === undefined || recipient.agentId === agentId) return null
  if ((policy !== 'requests' && policy !== 'contacts') || contacts.states.value.has(recipient.agentId)) return null
  return (
    <div class="request">
      <p>{sent.answersWait[policy](recipient.name)}</p>
      <div class="actions">
        <BusyButton
          onPress={async () => {
            await contacts.set(recipient.agentId, 'accepted')
            notify(strings.contacts.saved)
            await attempt(budget.refresh)
          }}
        >
          {sent.acceptRecipient(recipient.name)}
        </BusyButton>
        <span class="hint">{strings.contacts.addHint}</span>
      </div>
    </div>
  )
}

function stateOf({ acked, lane }: Message): string {
  if (acked) return sent.states.processed
  return lane === 'requests' ? sent.waitsAsRequest : sent.states.accepted
}
