import type { JSX } from 'preact'
import { strings } from '../strings.ts'
import { useWorkspace } from '../views/workspace-context.ts'

/** Shows how new messages arrive: live, by polling, or not at all. */
export function LiveState(): JSX.Element {
  const state = useWorkspace().live.value?.state.value ?? 'catching_up'
  return (
    <p class={`live ${state}`} role="status" aria-label={strings.live.label} title={strings.live.hints[state]}>
      <span class="dot" aria-hidden="true" />
      {strings.live.states[state]}
    </p>
  )
}
