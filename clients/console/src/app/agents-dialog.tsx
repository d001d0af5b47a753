import type { JSX } from 'preact'
import { shortId } from '../state/agent/short-id.ts'
import { unreadIn } from '../state/mail/unread-in.ts'
import { findWorkspace, isAdding, showAgent, vault } from '../state/session.ts'
import { strings } from '../strings.ts'
import { Dialog } from '../views/parts/dialog.tsx'
import { useWorkspace } from '../views/workspace-context.ts'

const { agents } = strings

/** Switches between the agents of this browser, or adds one. */
export function AgentsDialog({ onClose }: { onClose: () => void }): JSX.Element {
  const { agentId: shown } = useWorkspace()
  return (
    <Dialog title={agents.title} onClose={onClose}>
      <ul class="agents">
        {vault.agents.value.map(({ agentId, name }) => {
          const open = findWorkspace(agentId)
          const unread = open === undefined ? 0 : unreadIn('inbox', open) + unreadIn('requests', open)
          const label = name ?? strings.start.unnamed
          return (
            <li key={agentId}>
              <button
                type="button"
                class="agent-choice"
                aria-current={agentId === shown}
                onClick={() => {
                  onClose()
                  showAgent(agentId)
                }}
              >
                <span class="hidden-text">{agents.switchTo}</span>
                <span class="agent-name">
                  <bdi class="name">{label}</bdi>
                  <bdi class="id">{shortId(agentId)}</bdi>
                </span>
                {agentId === shown && <span class="hint">{agents.current}</span>}
                {unread > 0 && <span class="count">{unread}</span>}
              </button>
            </li>
          )
        })}
      </ul>
      <div class="actions">
        <button
          type="button"
          onClick={() => {
            onClose()
            isAdding.value = true
          }}
        >
          {agents.add}
        </button>
      </div>
    </Dialog>
  )
}
