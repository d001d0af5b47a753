import type { AssignableRole, BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain, hasCode } from '../../state/failures.ts'
import { isName, nameFrom } from '../../state/names.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Choice, Field } from '../parts/field.tsx'
import { AgentName, nameFor } from '../parts/name.tsx'
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
    await attempt(budget.refresh)
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
            <AgentName agentId={agent_id} />
            {role === 'owner' ? (
              <span class="badge plain">{texts.roles.owner}</span>
            ) : (
              <Choice
                label={texts.roleOf(nameFor(people.known.value, agent_id))}
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
    const wanted = nameFrom(id)
    if (id === '') return
    try {
      await onSet(isName(wanted) ? (await people.lookUp(wanted)).agentId : id, role)
      setWho('')
      setProblem(undefined)
    } catch (error) {
      setProblem(hasCode(error, 'not_found') ? strings.write.noRecipient(wanted) : explain(error))
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
