import type { JSX } from 'preact'
import { connectionOf } from '../live/connection.ts'
import { strings } from '../strings.ts'
import { useWorkspace } from '../views/workspace-context.ts'

const { live: words } = strings

/** Shows whether new messages arrive: live, not at the moment, or not at all. */
export function LiveState(): JSX.Element {
  const { health, live } = useWorkspace()
  const { state, word, hint } = connectionOf({
    health: health.state.value,
    isOnline: health.isOnline.value,
    stream: live.value?.state.value,
  })
  return (
    <p class={`live ${state}`} role="status" aria-label={words.label} title={words.hints[hint]}>
      <span class="dot" aria-hidden="true" />
      {words.states[word]}
    </p>
  )
}
