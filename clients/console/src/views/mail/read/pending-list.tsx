import type { JSX } from 'preact'
import type { Pending } from '../../../state/mail/outbox.ts'
import { textOf } from '../../../state/mail/search.ts'
import { notify } from '../../../state/notices.ts'
import { goTo } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { ForeignTitle } from '../../parts/text.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { sent } = strings
const PREVIEW_LENGTH = 160

/** Envelopes that may or may not have arrived, because no answer came. */
export function PendingList(): JSX.Element | null {
  const { outbox } = useWorkspace()
  const waiting = [...outbox.pending.value.values()]
  if (waiting.length === 0) return null
  return (
    <ul class="pending">
      {waiting.map((pending) => (
        <li key={pending.envelope.id}>
          <PendingRow pending={pending} />
        </li>
      ))}
    </ul>
  )
}

function PendingRow({ pending }: { pending: Pending }): JSX.Element {
  const { outbox, drafts } = useWorkspace()
  const { id, to, reply_to, thread_id } = pending.envelope
  const text = textOf(pending.body as never)
  const address = to.startsWith('board:') ? to : (to.split('@')[0] ?? to)

  /** An envelope that is too old is refused. Its text becomes a draft. */
  async function writeAgain(): Promise<void> {
    const draft = drafts.create({
      to: address,
      text,
      isJson: typeof pending.body !== 'string',
      isSealed: 'body_enc' in pending.envelope,
      ...(reply_to === undefined ? {} : { replyTo: reply_to }),
      ...(thread_id === undefined ? {} : { threadId: thread_id }),
    })
    drafts.save(draft)
    await outbox.forget(id)
    goTo('write', draft.id)
  }

  return (
    <div class="request">
      <p>
        <strong>{pending.isSending ? sent.states.sending : sent.states.unknown}</strong> <bdi>{sent.to(address)}</bdi>
      </p>
      <p class="preview">
        <ForeignTitle text={text.slice(0, PREVIEW_LENGTH)} />
      </p>
      {pending.problem !== undefined && <p class="problem">{pending.problem}</p>}
      <div class="actions">
        <BusyButton
          class="primary"
          title={sent.retryHint}
          isDisabled={pending.isSending}
          onPress={async () => {
            const result = await outbox.retry(id)
            if (result !== undefined) notify(strings.write.sent)
          }}
        >
          {sent.retry}
        </BusyButton>
        <BusyButton isDisabled={pending.isSending} onPress={writeAgain}>
          {sent.again}
        </BusyButton>
      </div>
    </div>
  )
}
