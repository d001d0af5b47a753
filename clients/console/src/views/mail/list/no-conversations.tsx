import type { JSX } from 'preact'
import { goTo, type MailLane } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Copyable } from '../../parts/copy.tsx'
import { Empty } from '../../parts/empty.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const { mail } = strings

interface Properties {
  readonly lane: MailLane
  readonly isFiltered: boolean
  /** Whether the whole history was read. */
  readonly isComplete: boolean
  readonly onClear: () => void
}

/** Says what could be in an empty list, and offers the next step. */
export function NoConversations({ lane, isFiltered, isComplete, onClear }: Properties): JSX.Element {
  const { context, conversations } = useWorkspace()
  const requests = conversations.requests.value.length
  if (isFiltered) {
    return (
      <Empty title={isComplete ? mail.nothingFound : mail.nothingFoundYet}>
        <button type="button" onClick={onClear}>
          {mail.clearSearch}
        </button>
      </Empty>
    )
  }
  if (!isComplete) return <Empty title={strings.loading} />
  if (lane === 'requests') return <Empty title={mail.emptyRequests} hint={mail.emptyRequestsHint} />
  if (requests > 0) {
    return (
      <Empty title={mail.requestsWait(requests)}>
        <button type="button" class="primary" onClick={() => goTo('requests')}>
          {strings.pages.requests}
        </button>
      </Empty>
    )
  }
  return (
    <Empty title={mail.empty} hint={mail.emptyHint}>
      <Copyable value={`${context.name.value}@${context.authority.value}`} label={strings.settings.address} />
      <button type="button" class="primary" onClick={() => goTo('write')}>
        {strings.pages.write}
      </button>
    </Empty>
  )
}
