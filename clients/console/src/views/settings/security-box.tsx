import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { Choice, Field } from '../parts/field.tsx'
import { isUsable, NO_PASSPHRASE, PassphraseFields } from '../start/passphrase.tsx'

const { settings: texts, agents } = strings

type IdleTime = keyof typeof agents.idleTimes

/** How the keys of this browser are protected. */
export function SecurityBox(): JSX.Element {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState(NO_PASSPHRASE)
  const [isChecked, setChecked] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)

  async function change(): Promise<void> {
    setChecked(true)
    if (isBusy || !isUsable(next)) return
    setBusy(true)
    try {
      await vault.changePassphrase(current, next.first)
      notify(texts.passphraseChanged)
      setCurrent('')
      setNext(NO_PASSPHRASE)
      setChecked(false)
      setProblem(undefined)
    } catch (error) {
      setProblem(explain(error))
    } finally {
      setBusy(false)
    }
  }

  return (
    <section class="box" aria-label={texts.security}>
      <h2>{texts.security}</h2>
      <Choice
        label={agents.idle}
        value={String(vault.idleLimitMs.value) as IdleTime}
        options={agents.idleTimes}
        onChange={(ms) => void attempt(() => vault.setIdleLimit(Number(ms)))}
      />
      <details>
        <summary>{texts.changePassphrase}</summary>
        <form
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            void change()
          }}
        >
          <Field
            label={texts.currentPassphrase}
            type="password"
            autocomplete="current-password"
            value={current}
            onInput={setCurrent}
            problem={problem}
          />
          <PassphraseFields value={next} onInput={setNext} isChecked={isChecked} />
          <button type="submit" aria-busy={isBusy}>
            {texts.changePassphrase}
          </button>
        </form>
      </details>
    </section>
  )
}
