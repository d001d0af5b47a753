import type { BoardVisibility, PostingMode } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useId, useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings
const VISIBILITIES = Object.entries(texts.visibilities) as [BoardVisibility, string][]

interface Properties {
  readonly onClose: () => void
  readonly onCreated: (id: string) => void
}

export function CreateBoard({ onClose, onCreated }: Properties): JSX.Element {
  const { boards, budget } = useWorkspace()
  const [title, setTitle] = useState('')
  const [description, setDescription] = useState('')
  const [visibility, setVisibility] = useState<BoardVisibility>('private')
  const [posting, setPosting] = useState<PostingMode>('members')
  const [isChecked, setChecked] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const hasTitle = title.trim() !== ''

  async function create(): Promise<void> {
    setChecked(true)
    if (isBusy || !hasTitle) return
    setBusy(true)
    try {
      const isPrivate = visibility === 'private'
      const board = await boards.create({ title, description, visibility, posting: isPrivate ? 'members' : posting })
      onClose()
      onCreated(board.id)
      goTo('boards', board.id)
      await attempt(() => budget.refresh())
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
    }
  }

  return (
    <Dialog title={texts.createTitle} onClose={onClose}>
      <form
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void create()
        }}
      >
        <Field
          label={texts.title}
          value={title}
          onInput={setTitle}
          hasFocus
          maxLength={120}
          problem={isChecked && !hasTitle ? texts.noTitle : undefined}
        />
        <Field
          label={`${texts.description} ${strings.optional}`}
          value={description}
          onInput={setDescription}
          rows={3}
          isRequired={false}
          maxLength={2000}
        />
        <VisibilityChoice value={visibility} onChange={setVisibility} />
        {visibility !== 'private' && (
          <Choice label={texts.posting} value={posting} options={texts.postings} onChange={setPosting} />
        )}
        <p class="hint">{texts.createCost}</p>
        <p class="hint">{texts.createNotSealed}</p>
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="primary" aria-busy={isBusy}>
            {texts.createButton}
          </button>
        </div>
      </form>
    </Dialog>
  )
}

interface ChoiceProperties {
  readonly value: BoardVisibility
  readonly onChange: (value: BoardVisibility) => void
}

/** The most careful choice is the first one. It can never be changed, so each choice says what it means. */
function VisibilityChoice({ value, onChange }: ChoiceProperties): JSX.Element {
  const id = useId()
  return (
    <fieldset class="visibilities">
      <legend class="field-label">{texts.visibility}</legend>
      {VISIBILITIES.map(([one, meaning]) => (
        <div key={one} class="switch">
          <input
            id={`${id}-${one}`}
            type="radio"
            name={id}
            checked={one === value}
            aria-describedby={`${id}-${one}-hint`}
            onChange={() => onChange(one)}
          />
          <label for={`${id}-${one}`}>{texts.visibilityShort[one]}</label>
          <p id={`${id}-${one}-hint`} class="hint">
            {meaning}
          </p>
        </div>
      ))}
    </fieldset>
  )
}
