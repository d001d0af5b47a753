import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { attempt } from '../../../state/failures.ts'
import { notify } from '../../../state/notices.ts'
import { goTo } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { requests } = strings

/** Decides about the first message of a stranger. */
export function RequestBar({ message }: { message: Message }): JSX.Element {
  const { contacts, mailbox, ignored, budget } = useWorkspace()
  const { id, from } = message.envelope
  return (
    <div class="request">
      <p>{requests.question}</p>
      <div class="actions">
        <BusyButton
          class="primary"
          onPress={async () => {
            await contacts.set(from, 'accepted')
            await mailbox.reread(id)
            notify(requests.accepted)
            goTo('inbox', id)
            await attempt(() => budget.refresh())
          }}
        >
          {requests.accept}
        </BusyButton>
        <span class="hint">{requests.acceptHint}</span>
      </div>
      <div class="actions">
        <BusyButton
          onPress={async () => {
            await contacts.set(from, 'blocked')
            notify(requests.blocked)
            goTo('requests')
          }}
        >
          {requests.block}
        </BusyButton>
        <BusyButton
          onPress={async () => {
            await ignored.ignore(id)
            notify(requests.ignored)
            goTo('requests')
          }}
        >
          {requests.ignore}
        </BusyButton>
      </div>
    </div>
  )
}
