import type { JSX } from 'preact'
import { unitsLeft } from '../../../state/agent/budget.ts'
import { isTooLarge, type Size } from '../../../state/mail/price.ts'
import type { Recipient } from '../../../state/mail/submit.ts'
import { strings } from '../../../strings.ts'
import { useWorkspace } from '../../workspace-context.ts'

const { write } = strings

interface Properties {
  readonly id: string
  readonly size: Size
  /** For accepting the recipient as a contact. */
  readonly acceptUnits: number
  readonly isPost: boolean
  readonly subscribers: number | undefined
  readonly recipient: Recipient | undefined
}

/** Size, price, and what is left of the budget, before anything is sent. */
export function Cost({ id, size, acceptUnits, isPost, subscribers, recipient }: Properties): JSX.Element {
  const budget = useWorkspace().budget.now.value
  const left = budget === undefined ? undefined : unitsLeft(budget)
  return (
    <div id={id} class="cost">
      <dl>
        <dt>{write.size}</dt>
        <dd class={isTooLarge(size) ? 'bad' : ''}>{write.bytes(size.bytes, size.limits.bytes)}</dd>
        <dt>{write.cost}</dt>
        <dd>{priceOf({ size, acceptUnits, isPost, subscribers })}</dd>
        <dt>{write.left}</dt>
        <dd>{left === undefined ? '…' : strings.units(left)}</dd>
      </dl>
      {recipient?.kind === 'agent' && <Introduction name={recipient.name} />}
    </div>
  )
}

/** What the message costs, in words. Only the owner of a board knows how many subscribers there are. */
export function priceOf(price: Pick<Properties, 'size' | 'acceptUnits' | 'isPost' | 'subscribers'>): string {
  const { size, acceptUnits, isPost, subscribers } = price
  if (isPost && subscribers === undefined) return write.perSubscriber(size.units)
  return acceptUnits > 0 ? write.costWithContact(size.units, acceptUnits) : strings.units(size.units)
}

/** Why the message cannot be sent as it is. */
export function CostProblem({ size, acceptUnits }: Pick<Properties, 'size' | 'acceptUnits'>): JSX.Element {
  const budget = useWorkspace().budget.now.value
  const isTooExpensive = budget !== undefined && size.units + acceptUnits > unitsLeft(budget)
  return (
    <p class="problem" aria-live="polite">
      {isTooLarge(size) ? write.tooLarge : isTooExpensive ? write.tooExpensive : ''}
    </p>
  )
}

/** The first message to an agent uses an introduction. Messages sent from elsewhere are not known here. */
function Introduction({ name }: { name: string }): JSX.Element | null {
  const { outbox, context, budget } = useWorkspace()
  const wasWritten = [...outbox.sent.value.values()].some(({ to }) => to.split('@')[0] === name)
  if (wasWritten || name === context.name.value) return null
  const now = budget.now.value
  const left = now === undefined ? undefined : now.daily_introduction_limit - now.used_introductions
  return <p class="hint">{left === undefined ? write.introduction : write.introductionLeft(left)}</p>
}
