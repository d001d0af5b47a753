import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { saveFile } from '../../vault/save-file.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { useProblemFocus } from './problem-focus.ts'

const { saveKey, settings, start } = strings

interface Properties {
  readonly agentId: string
  readonly name: string | undefined
  readonly onClose: () => void
}

/** Saves the key of an agent to a file. Asks for the passphrase, so that nobody takes a key from an unlocked page in passing. */
export function SaveKey({ agentId, name, onClose }: Properties): JSX.Element {
  const [passphrase, setPassphrase] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [form, focusProblem] = useProblemFocus()

  async function save(): Promise<void> {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      saveFile(`${name ?? agentId}.key`, await vault.exportAgent(agentId, passphrase))
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
      focusProblem()
      return
    }
    // If this cannot be stored, the reminder stays.
    await vault.noteKeySaved(agentId).catch(() => {})
    onClose()
    notify(settings.keyExported)
  }

  return (
    <Dialog title={saveKey.of(name ?? start.unnamed)} onClose={onClose}>
      <form
        ref={form}
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void save()
        }}
      >
        <p>{settings.exportKeyText}</p>
        <Field
          label={start.passphrase}
          type="password"
          autocomplete="current-password"
          value={passphrase}
          onInput={setPassphrase}
          hint={saveKey.passphraseHint}
          problem={problem}
          hasFocus
        />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="primary" aria-busy={isBusy}>
            {isBusy ? saveKey.checking : settings.exportKeyButton}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
