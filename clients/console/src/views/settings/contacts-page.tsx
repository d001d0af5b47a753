import type { ContactState } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { labelOf } from '../../state/agent/people.ts'
import { attempt, explainFor } from '../../state/failures.ts'
import { recipientOf } from '../../state/mail/submit.ts'
import { notify } from '../../state/notices.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Avatar } from '../parts/avatar.tsx'
import { BusyButton } from '../parts/busy-button.tsx'
import { Copyable } from '../parts/copy.tsx'
import { Field } from '../parts/field.tsx'
import { AgentName } from '../parts/name.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { contacts: texts } = strings

/** Agents that this agent has accepted or blocked. */
export function ContactsPage(): JSX.Element {
  const { contacts } = useWorkspace()
  useEffect(() => {
    void attempt(() => contacts.refresh())
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
  const { people, contacts, budget, context } = useWorkspace()
  const [name, setName] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function add(): Promise<void> {
    if (isBusy) return
    const wanted = recipientOf(name, context.authority.value)
    if (wanted?.kind !== 'agent') return setProblem(strings.start.nameWrong)
    if (people.isOwn(wanted.name)) return setProblem(texts.ownName)
    setBusy(true)
    try {
      const { agentId } = await people.lookUp(wanted.name)
      if (contacts.stateOf(agentId) === 'accepted') return setProblem(texts.known(wanted.name))
      await contacts.set(agentId, 'accepted')
      setName('')
      setProblem(undefined)
      notify(texts.changed.accepted(wanted.name))
      await attempt(() => budget.refresh())
    } catch (error) {
      setProblem(explainFor(wanted.name, error))
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
      <Field
        label={texts.addField}
        value={name}
        onInput={(next) => {
          setName(next)
          setProblem(undefined)
        }}
        hint={texts.addHint}
        problem={problem}
      />
      <button type="submit" aria-busy={isBusy}>
        {texts.addButton}
      </button>
    </form>
  )
}

function ContactList({ state, title, hint }: { state: ContactState; title: string; hint: string }): JSX.Element {
  const { contacts, people } = useWorkspace()
  const heading = useRef<HTMLHeadingElement>(null)
  const ids = [...contacts.states.value].filter(([, one]) => one === state).map(([id]) => id)
  const sorted = ids.sort((a, b) => labelOf(people, a).localeCompare(labelOf(people, b)))
  return (
    <section class="box" aria-label={title}>
      <h2 ref={heading} tabIndex={-1}>
        {title} {sorted.length > 0 && <span class="count plain">{sorted.length}</span>}
      </h2>
      <p class="hint">{hint}</p>
      {sorted.length === 0 && (state === 'accepted' ? <NobodyAccepted /> : <p>{texts.noneBlocked}</p>)}
      <ul class="rows contacts">
        {sorted.map((agentId) => (
          <li key={agentId}>
            <ContactRow agentId={agentId} state={state} onGone={() => heading.current?.focus()} />
          </li>
        ))}
      </ul>
    </section>
  )
}

function NobodyAccepted(): JSX.Element {
  return (
    <>
      <p>{texts.noneAccepted}</p>
      <p class="hint">{texts.noneAcceptedHint}</p>
      <div class="actions">
        <button type="button" onClick={() => goTo('requests')}>
          {strings.pages.requests}
        </button>
        <button type="button" onClick={() => goTo('write')}>
          {strings.pages.write}
        </button>
      </div>
    </>
  )
}

interface RowProperties {
  readonly agentId: string
  readonly state: ContactState
  /** The row, which had the focus, went to the other list or away. */
  readonly onGone: () => void
}

function ContactRow({ agentId, state, onGone }: RowProperties): JSX.Element {
  const { contacts, people, budget } = useWorkspace()
  const isByMessage = contacts.acceptedByMessage.value.has(agentId)
  const person = people.find(agentId)
  const label = labelOf(people, agentId)
  const set = async (next: ContactState): Promise<void> => {
    await contacts.set(agentId, next)
    notify(texts.changed[next](label))
    onGone()
    await attempt(() => budget.refresh())
  }
  return (
    <>
      <Avatar who={agentId} size={28} />
      <div class="contact">
        <AgentName who={agentId} />
        {isByMessage && (
          <span class="badge plain" title={texts.byMessageHint}>
            {texts.byMessage}
          </span>
        )}
      </div>
      {/* biome-ignore lint/a11y/useSemanticElements: buttons of one contact, and no form */}
      <div class="contact-actions" role="group" aria-label={texts.actions(label)}>
        {state === 'accepted' && person?.name !== undefined && (
          <button type="button" class="small write" onClick={() => goTo('write', person.name)}>
            {texts.write}
          </button>
        )}
        {state === 'accepted' ? (
          <BusyButton class="small change" onPress={() => set('blocked')}>
            {texts.block}
          </BusyButton>
        ) : (
          <BusyButton class="small change" onPress={() => set('accepted')}>
            {texts.accept}
          </BusyButton>
        )}
        <BusyButton class="small remove" onPress={() => set('none')}>
          {isByMessage ? texts.takeBack : texts.remove}
        </BusyButton>
      </div>
      <details>
        <summary>{texts.agentId}</summary>
        <Copyable value={agentId} label={texts.agentId} />
      </details>
    </>
  )
}
