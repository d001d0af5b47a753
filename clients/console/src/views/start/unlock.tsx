import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../../state/failures.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { Field } from '../parts/field.tsx'

const { start } = strings

/** Asks for the passphrase after a reload, an idle time, or a lock. */
export function Unlock(): JSX.Element {
  const [passphrase, setPassphrase] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [isWiping, setWiping] = useState(false)

  async function unlock(): Promise<void> {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await vault.unlock(passphrase)
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
    }
  }

  return (
    <>
      <form
        class="card"
        noValidate
        onSubmit={(event) => {
          event.preventDefault()
          void unlock()
        }}
      >
        <h1>{start.unlockTitle}</h1>
        <p class="lead">{start.unlockLead}</p>
        <Field
          label={start.passphrase}
          type="password"
          autocomplete="current-password"
          value={passphrase}
          onInput={setPassphrase}
          problem={problem}
          hasFocus
        />
        <div class="actions spread">
          <button type="button" class="quiet" onClick={() => setWiping(true)}>
            {start.forgot}
          </button>
          <button type="submit" class="primary" aria-busy={isBusy}>
            {isBusy ? start.unlocking : start.unlock}
          </button>
        </div>
      </form>
      {isWiping && (
        <ConfirmByTyping
          title={start.wipeAll}
          text={start.wipeAllText}
          word={start.wipeAllWord}
          button={start.wipeAll}
          onConfirm={() => vault.wipe()}
          onClose={() => setWiping(false)}
        />
      )}
    </>
  )
}
