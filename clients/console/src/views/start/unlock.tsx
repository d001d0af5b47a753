import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { explain } from '../../state/failures.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { ConfirmByTyping } from '../parts/confirm.tsx'
import { Field } from '../parts/field.tsx'
import { useProblemFocus } from './problem-focus.ts'

const { start } = strings

/** Asks for the passphrase after a reload, an idle time, or a lock. */
export function Unlock(): JSX.Element {
  const [passphrase, setPassphrase] = useState('')
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [isWiping, setWiping] = useState(false)
  const [form, focusProblem] = useProblemFocus()

  async function unlock(): Promise<void> {
    if (isBusy) return
    setBusy(true)
    setProblem(undefined)
    try {
      await vault.unlock(passphrase)
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
      focusProblem()
    }
  }

  return (
    <>
      <form
        ref={form}
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
        <div class="actions">
          <button type="submit" class="primary" aria-busy={isBusy}>
            {isBusy ? start.unlocking : start.unlock}
          </button>
        </div>
      </form>
      <section class="apart" aria-labelledby="forgot">
        <h2 id="forgot">{start.forgot}</h2>
        <p>{start.forgotText}</p>
        <button type="button" class="danger" onClick={() => setWiping(true)}>
          {start.wipeAll}
        </button>
      </section>
      {isWiping && (
        <ConfirmByTyping
          title={start.wipeAllTitle}
          text={start.wipeAllText}
          word={start.wipeAllWord}
          button={start.wipeAllButton}
          onConfirm={() => vault.wipe()}
          onClose={() => setWiping(false)}
        />
      )}
    </>
  )
}
