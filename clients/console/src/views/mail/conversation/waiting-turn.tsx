import type { JsonValue } from '@svc/envelope/json-value.ts'
import type { JSX } from 'preact'
import type { Conversation } from '../../../state/mail/conversations.ts'
import type { Pending } from '../../../state/mail/outbox.ts'
import { textOf } from '../../../state/mail/texts.ts'
import { notify } from '../../../state/notices.ts'
import { goTo, route } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { ForeignText } from '../../parts/text.tsx'
import { clockOf } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { turns } = strings

interface Properties {
  readonly pending: Pending
  readonly conversation: Conversation
}

/** An own message that the service has not accepted yet: since when it waits, why, and what a person can do about it. */
export function WaitingTurn({ pending, conversation }: Properties): JSX.Element {
  const { outbox, drafts } = useWorkspace()
  const { id } = pending.envelope

  /** The text goes back to where it was written. */
  async function cancel(): Promise<void> {
    const cancelled = await outbox.cancel(id)
    if (cancelled === undefined) return
    const { page, id: shown } = route.peek()
    // The address may name this message. The rest of the conversation stays.
    if (shown === id) goTo(page, conversation.entries.at(-1)?.message.envelope.id)
    const draft = drafts.create(cancelled.draft)
    drafts.save(draft)
    const text = cancelled.mayHaveArrived ? turns.cancelledMaybe : turns.cancelled
    notify(text, 'done', { label: turns.editDraft, run: () => goTo('write', draft.id) })
  }

  return (
    <article class="turn own waiting">
      <div class="turn-main">
        <header class="turn-head">
          <span class="name">{strings.mail.you}</span>
          <span class="turn-state waits" role="status">
            {pending.isRefused
              ? turns.refused
              : pending.isSending
                ? turns.sending
                : turns.waitsSince(clockOf(pending.sinceMs))}
          </span>
        </header>
        {/* biome-ignore lint/a11y/useSemanticElements: a group that is no form field */}
        <div class="body" role="group" aria-label={strings.mail.bodyOwn}>
          <ForeignText text={textOf(pending.body as JsonValue)} />
        </div>
        {pending.problem !== undefined && <p class={pending.isRefused ? 'problem' : 'hint'}>{pending.problem}</p>}
        <div class="actions">
          <BusyButton class="small" isDisabled={pending.isSending} onPress={() => outbox.retry(id)}>
            {strings.retry}
          </BusyButton>
          <BusyButton class="small quiet" onPress={cancel}>
            {turns.cancel}
          </BusyButton>
        </div>
      </div>
    </article>
  )
}
