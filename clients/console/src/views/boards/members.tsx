import type { AssignableRole, BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import { attempt, explainFor } from '../../state/failures.ts'
import { nameFrom } from '../../state/names.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Choice, Field } from '../parts/field.tsx'
import { AgentName } from '../parts/name.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings
const { owner: _, ...ASSIGNABLE } = texts.roles

interface Properties {
  readonly board: BoardDetails
  readonly members: readonly MemberEntry[]
  readonly onChange: () => Promise<void>
}

/** Readers, writers and banned agents of a board. Only its owner sees them. */
export function Members({ board, members, onChange }: Properties): JSX.Element {
  const { boards, people, budget } = useWorkspace()

  async function setRole(agentId: string, role: AssignableRole): Promise<void> {
    await boards.setMember(board.id, agentId, role)
    notify(texts.roleSet)
    await onChange()
    await attempt(() => budget.refresh())
  }

  return (
    <details class="box">
      <summary>
        {texts.members} <span class="count plain">{members.length}</span>
      </summary>
      <p class="hint">{texts.rolesHint}</p>
      <ul class="rows">
        {members.map(({ agent_id, role }) => (
          <li key={agent_id}>
            <AgentName who={agent_id} />
            {role === 'owner' ? (
              <span class="badge plain">{texts.roles.owner}</span>
            ) : (
              <Choice
                label={texts.roleOf(labelOf(people, agent_id))}
                isHidden
                value={role as AssignableRole}
                options={ASSIGNABLE}
                onChange={(next) => void attempt(() => setRole(agent_id, next))}
              />
            )}
          </li>
        ))}
      </ul>
      <AddMember onSet={setRole} />
    </details>
  )
}

function AddMember({ onSet }: { onSet: (agentId: string, role: AssignableRole) => Promise<void> }): JSX.Element {
  const { people } = useWorkspace()
  const [who, setWho] = useState('')
  const [role, setRole] = useState<AssignableRole>('writer')
  const [problem, setProblem] = useState<string | undefined>(undefined)

  async function add(): Promise<void> {
    const id = who.trim()
    if (id === '') return
    try {
      await onSet(await people.idOf(isAgentId(id) ? id : nameFrom(id)), role)
      setWho('')
      setProblem(undefined)
    } catch (error) {
      setProblem(explainFor(id, error))
    }
  }

  return (
    <form
      class="inline-form"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <Field label={texts.member} value={who} onInput={setWho} problem={problem} />
      <Choice label={texts.role} value={role} options={ASSIGNABLE} onChange={setRole} />
      <button type="submit">{texts.setRole}</button>
    </form>
  )
}
