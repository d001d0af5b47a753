import type { JSX } from 'preact'
import type { Workspace } from '../../state/agent/workspace.ts'
import { explain } from '../../state/failures.ts'
import { isAdding } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { OtherAgents } from './other-agents.tsx'

/** Shown while an agent is opened, and if the service cannot be asked about it. */
export function Opening({ workspace }: { workspace: Workspace }): JSX.Element {
  if (workspace.state.value !== 'failed') return <p role="status">{strings.loading}</p>
  return (
    <div class="card">
      <h1>{workspace.context.name.value ?? strings.start.unnamed}</h1>
      <p role="alert">{explain(workspace.failure.value)}</p>
      <div class="actions">
        <button
          type="button"
          onClick={() => {
            isAdding.value = true
          }}
        >
          {strings.agents.add}
        </button>
        <OtherAgents agentId={workspace.agentId} />
        <button type="button" class="primary" onClick={() => void workspace.open()}>
          {strings.retry}
        </button>
      </div>
    </div>
  )
}
