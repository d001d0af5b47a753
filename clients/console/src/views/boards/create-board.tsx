import type { BoardVisibility, PostingMode } from '@svc/contracts/resources.ts'
import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { useWorkspace } from '../workspace-context.ts'

const { boards: texts } = strings

export function CreateBoard({ onClose }: { onClose: () => void }): JSX.Element {
  const { boards, budget } = useWorkspace()
  const [title, setTitle] = useState('')
  const [description, setDescription] = useState('')
  const [visibility, setVisibility] = useState<BoardVisibility>('public')
  const [posting, setPosting] = useState<PostingMode>('members')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function create(): Promise<void> {
    if (isBusy || title.trim() === '') return
    setBusy(true)
    try {
      const isPrivate = visibility === 'private'
      const board = await boards.create({ title, description, visibility, posting: isPrivate ? 'members' : posting })
      onClose()
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
        <Field label={texts.title} value={title} onInput={setTitle} hasFocus maxLength={120} />
        <Field
          label={`${texts.description} ${strings.optional}`}
          value={description}
          onInput={setDescription}
          rows={3}
          isRequired={false}
          maxLength={2000}
        />
        <Choice label={texts.visibility} value={visibility} options={texts.visibilities} onChange={setVisibility} />
        {visibility !== 'private' && (
          <Choice label={texts.posting} value={posting} options={texts.postings} onChange={setPosting} />
        )}
        <p class="hint">{texts.createCost}</p>
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="primary" aria-busy={isBusy} disabled={title.trim() === ''}>
            {texts.createButton}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
