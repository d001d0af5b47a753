import type { JSX } from 'preact'
import { strings } from '../strings.ts'
import { BusyButton } from '../views/parts/busy-button.tsx'
import { clockOf } from '../views/parts/time.tsx'
import { useWorkspace } from '../views/workspace-context.ts'

const { health: words } = strings

/** Says what does not work while the service cannot be reached. */
export function ServiceBanner(): JSX.Element | null {
  const { health } = useWorkspace()
  const sinceMs = health.sinceMs.value
  if (health.state.value === 'ok' || sinceMs === undefined) return null
  const since = clockOf(sinceMs)
  return (
    <div class="banner bad" role="status">
      <p>
        {health.isOnline.value ? words.down(since) : words.noNetwork(since)} {words.safe}
      </p>
      <div class="actions">
        <BusyButton onPress={() => health.check()}>{strings.retry}</BusyButton>
      </div>
    </div>
  )
}
