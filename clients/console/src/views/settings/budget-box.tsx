import type { JSX } from 'preact'
import { unitsLeft } from '../../state/agent/budget.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Meter } from '../parts/meter.tsx'
import { Time } from '../parts/time.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { settings: texts } = strings

/** Free units, ceiling, credits and introductions of the day, and when they reset. */
export function BudgetBox(): JSX.Element {
  const { budget } = useWorkspace()
  const now = budget.now.value
  return (
    <section class="box" aria-label={texts.budget}>
      <header class="box-head">
        <h2>{texts.budget}</h2>
        <BusyButton class="quiet small" label={`${texts.refresh}: ${texts.budget}`} onPress={() => budget.refresh()}>
          {texts.refresh}
        </BusyButton>
      </header>
      {now === undefined ? (
        <p role="status">{strings.loading}</p>
      ) : (
        <>
          <p class="big">{texts.leftToday(unitsLeft(now))}</p>
          <Gauge label={texts.free} used={Math.min(now.used_units, now.daily_free_units)} of={now.daily_free_units} />
          <Gauge label={texts.ceiling} used={now.used_units} of={now.daily_hard_limit} />
          <Gauge label={texts.introductions} used={now.used_introductions} of={now.daily_introduction_limit} />
          <dl class="facts">
            <dt>{texts.credits}</dt>
            <dd>{strings.units(now.credit_balance)}</dd>
            <dt>{texts.resets}</dt>
            <dd>
              <Time seconds={now.resets_at} full />
            </dd>
          </dl>
        </>
      )}
    </section>
  )
}

function Gauge({ label, used, of }: { label: string; used: number; of: number }): JSX.Element {
  return (
    <div class="setting gauge">
      <p class="field-label">{label}</p>
      <Meter label={label} used={used} of={of} />
      <p class="hint">{texts.usedOf(used, of)}</p>
    </div>
  )
}
