import type { AssignableRole, BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { JSX } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import { attempt, explainFor } from '../../state/failures.ts'
import { nameFrom } from '../../state/names.ts'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Avatar } from '../parts/avatar.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { AgentName } from '../parts/name.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings
const { owner: _, ...ASSIGNABLE } = texts.roles

type SetRole = (agentId: string, role: AssignableRole) => Promise<void>

interface Properties {
  readonly board: BoardDetails
  readonly members: readonly MemberEntry[]
  readonly onChange: () => Promise<void>
}

/** Readers, writers and banned agents of a board. Only its owner sees them. */
export function Members({ board, members, onChange }: Properties): JSX.Element {
  const { boards, people, budget } = useWorkspace()
  const summary = useRef<HTMLElement>(null)

  async function setRole(agentId: string, role: AssignableRole): Promise<void> {
    await boards.setMember(board.id, agentId, role)
    notify(texts.roleSet(labelOf(people, agentId), texts.roles[role]))
    await onChange()
    // The row, which had the focus, is gone.
    if (role === 'none') summary.current?.focus()
    await attempt(() => budget.refresh())
  }

  return (
    <details class="box">
      <summary ref={summary}>
        {texts.members} <span class="count plain">{members.length}</span>
      </summary>
      <p class="hint">
        {texts.membersHint} {texts.rolesHint}
      </p>
      <ul class="rows members">
        {members.map(({ agent_id, role }) => (
          <li key={agent_id}>
            <Avatar who={agent_id} size={28} />
            <AgentName who={agent_id} />
            {role === 'owner' ? (
              <span class="badge plain">{texts.roles.owner}</span>
            ) : (
              <MemberRole key={role} agentId={agent_id} role={role} onSet={setRole} />
            )}
          </li>
        ))}
      </ul>
      <AddMember onSet={setRole} />
    </details>
  )
}

/** Arrow keys change a closed list at once, so the role is set by a button and not by the list. */
function MemberRole(properties: { agentId: string; role: AssignableRole; onSet: SetRole }): JSX.Element {
  const { agentId, role, onSet } = properties
  const { people } = useWorkspace()
  const [wanted, setWanted] = useState(role)
  const name = labelOf(people, agentId)
  return (
    <div class="member-role">
      <Choice label={texts.roleOf(name)} isHidden value={wanted} options={ASSIGNABLE} onChange={setWanted} />
      <BusyButton
        label={texts.setRoleOf(name)}
        isDisabled={wanted === role}
        onPress={async () => await onSet(agentId, wanted)}
      >
        {texts.setRole}
      </BusyButton>
    </div>
  )
}

function AddMember({ onSet }: { onSet: SetRole }): JSX.Element {
  const { people } = useWorkspace()
  const [who, setWho] = useState('')
  const [role, setRole] = useState<AssignableRole>('writer')
  const [problem, setProblem] = useState<string | undefined>(undefined)

  async function add(): Promise<void> {
    const id = who.trim()
    if (id === '') return setProblem(texts.noMember)
    try {
      await onSet(await people.idOf(isAgentId(id) ? id : nameFrom(id)), role)
      setWho('')
      setProblem(undefined)
    } catch (error) {
      setProblem(isCode(error, 'owner_role') ? texts.ownRole : explainFor(id, error))
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
