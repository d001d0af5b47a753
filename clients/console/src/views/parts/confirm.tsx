import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'
import { strings } from '../../strings.ts'
import { Dialog } from './dialog.tsx'
import { Field } from './field.tsx'

interface Properties {
  readonly title: string
  readonly text: string
  /** The word that the person must type. */
  readonly word: string
  readonly button: string
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
}

/** A question before an action that cannot be undone. */
export function ConfirmByTyping({ title, text, word, button, onConfirm, onClose }: Properties): JSX.Element {
  const [typed, setTyped] = useState('')
  const [isBusy, setBusy] = useState(false)
  const isRight = typed.trim() === word
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        noValidate
        onSubmit={async (event) => {
          event.preventDefault()
          if (!isRight || isBusy) return
          setBusy(true)
          await attempt(onConfirm)
          onClose()
        }}
      >
        <p>{text}</p>
        <Field label={strings.settings.confirm(word)} value={typed} onInput={setTyped} hasFocus />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="danger" disabled={!isRight} aria-busy={isBusy}>
            {button}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
