import type { ContactState } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { attempt, explain, hasCode } from '../../state/failures.ts'
import { isName, nameFrom } from '../../state/names.ts'
import { notify } from '../../state/notices.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Field } from '../parts/field.tsx'
import { AgentName, nameFor } from '../parts/name.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { contacts: texts } = strings

/** Agents that this agent has accepted or blocked. */
export function ContactsPage(): JSX.Element {
  const { contacts } = useWorkspace()
  useEffect(() => {
    void attempt(contacts.refresh)
  }, [])
  return (
    <div class="column">
      <h1>{texts.title}</h1>
      <AddContact />
      <ContactList state="accepted" title={texts.accepted} hint={texts.acceptedHint} />
      <ContactList state="blocked" title={texts.blocked} hint={texts.blockedHint} />
    </div>
  )
}

function AddContact(): JSX.Element {
  const { people, contacts, budget } = useWorkspace()
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function add(): Promise<void> {
    const wanted = nameFrom(name.trim())
    if (isBusy) return
    if (!isName(wanted)) return setProblem(strings.start.nameWrong)
    setBusy(true)
    try {
      const { agentId } = await people.lookUp(wanted)
      await contacts.set(agentId, 'accepted')
      setName('')
      setProblem(undefined)
      notify(texts.saved)
      await attempt(budget.refresh)
    } catch (error) {
      setProblem(hasCode(error, 'not_found') ? strings.write.noRecipient(wanted) : explain(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      class="box inline-form"
      aria-label={texts.add}
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        void add()
      }}
    >
      <h2>{texts.add}</h2>
      <Field label={texts.addField} value={name} onInput={setName} hint={texts.addHint} problem={problem} />
      <button type="submit" aria-busy={isBusy}>
        {texts.addButton}
      </button>
    </form>
  )
}

function ContactList({ state, title, hint }: { state: ContactState; title: string; hint: string }): JSX.Element {
  const { contacts, people } = useWorkspace()
  const ids = [...contacts.states.value].filter(([, one]) => one === state).map(([id]) => id)
  const known = people.known.value
  const sorted = ids.sort((a, b) => nameFor(known, a).localeCompare(nameFor(known, b)))
  return (
    <section class="box" aria-label={title}>
      <h2>{title}</h2>
      <p class="hint">{hint}</p>
      {sorted.length === 0 && <p>{texts.none}</p>}
      <ul class="rows">
        {sorted.map((agentId) => (
          <li key={agentId}>
            <ContactRow agentId={agentId} state={state} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function ContactRow({ agentId, state }: { agentId: string; state: ContactState }): JSX.Element {
  const { contacts, people, budget } = useWorkspace()
  const name = people.known.value.get(agentId)?.name
  const set = async (next: ContactState): Promise<void> => {
    await contacts.set(agentId, next)
    notify(texts.saved)
    await attempt(budget.refresh)
  }
  return (
    <>
      <AgentName agentId={agentId} />
      {/* biome-ignore lint/a11y/useSemanticElements: buttons of one contact, and no form */}
      <div class="actions" role="group" aria-label={texts.actions(nameFor(people.known.value, agentId))}>
        {state === 'accepted' && name !== undefined && (
          <button type="button" class="small" onClick={() => goTo('write', name)}>
            {texts.write}
          </button>
        )}
        {state === 'accepted' ? (
          <BusyButton class="small" onPress={() => set('blocked')}>
            {texts.block}
          </BusyButton>
        ) : (
          <BusyButton class="small" onPress={() => set('accepted')}>
            {texts.accept}
          </BusyButton>
        )}
        <BusyButton class="small quiet" onPress={() => set('none')}>
          {texts.remove}
        </BusyButton>
      </div>
    </>
  )
}
