import type { JSX } from 'preact'
import { showAgent, vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'

/** Leads to the other agents of this browser if the shown one cannot be used. */
export function OtherAgents({ agentId: shown }: { agentId: string }): JSX.Element {
  return (
    <>
      {vault.agents.value
        .filter(({ agentId }) => agentId !== shown)
        .map(({ agentId, name }) => (
          <button key={agentId} type="button" onClick={() => showAgent(agentId)}>
            {strings.agents.switchTo} {name ?? strings.start.unnamed}
          </button>
        ))}
    </>
  )
}
