import type { Message } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { labelOf } from '../../../state/agent/people.ts'
import { attempt } from '../../../state/failures.ts'
import { notify } from '../../../state/notices.ts'
import { goTo } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { BusyButton } from '../../parts/busy-button.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { requests } = strings

/** Decides about messages of a stranger. They are of one sender. */
export function RequestBar({ requests: waiting }: { requests: readonly Message[] }): JSX.Element | null {
  const { contacts, archive, ignored, budget, people } = useWorkspace()
  const [first] = waiting
  if (first === undefined) return null
  const { id, from } = first.envelope
  const ids = waiting.map(({ envelope }) => envelope.id)
  return (
    <div class="request">
      <p>{requests.question(labelOf(people, from))}</p>
      <div class="actions">
        <BusyButton
          class="primary"
          onPress={async () => {
            await contacts.set(from, 'accepted')
            for (const messageId of ids) await archive.reread(messageId)
            notify(requests.accepted)
            goTo('inbox', id)
            await attempt(() => budget.refresh())
          }}
        >
          {requests.accept}
        </BusyButton>
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
            for (const messageId of ids) await ignored.ignore(messageId)
            notify(requests.ignored)
            goTo('requests')
          }}
        >
          {requests.ignore}
        </BusyButton>
      </div>
      <p class="hint">{requests.acceptHint}</p>
    </div>
  )
}
