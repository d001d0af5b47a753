import type { JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt, explain } from '../../state/failures.ts'
import { notify } from '../../state/notices.ts'
import { vault } from '../../state/session.ts'
import { strings } from '../../strings.ts'
import { Dialog } from '../parts/dialog.tsx'
import { Choice, Field } from '../parts/field.tsx'
import { isUsable, NO_PASSPHRASE, PassphraseFields } from '../start/passphrase.tsx'
import { useProblemFocus } from '../start/problem-focus.ts'
import { Row } from './row.tsx'

const { settings: texts, agents } = strings

type IdleTime = keyof typeof agents.idleTimes

/** How the keys of this browser are protected. */
export function SecurityBox(): JSX.Element {
  const [isOpen, setOpen] = useState(false)
  return (
    <section class="box" aria-label={texts.security}>
      <h2>{texts.security}</h2>
      <Choice
        label={agents.idle}
        value={String(vault.idleLimitMs.value) as IdleTime}
        options={agents.idleTimes}
        onChange={(ms) => void attempt(() => vault.setIdleLimit(Number(ms)))}
      />
      <div class="setting note">
        <p class="hint">{texts.onlyHere}</p>
      </div>
      <Row label={texts.passphrase} hint={texts.passphraseHint}>
        <button type="button" onClick={() => setOpen(true)}>
          {texts.changePassphrase}
        </button>
      </Row>
      {isOpen && <ChangePassphrase onClose={() => setOpen(false)} />}
    </section>
  )
}

function ChangePassphrase({ onClose }: { onClose: () => void }): JSX.Element {
  const [current, setCurrent] = useState('')
  const [next, setNext] = useState(NO_PASSPHRASE)
  const [isChecked, setChecked] = useState(false)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const [isBusy, setBusy] = useState(false)
  const [form, focusProblem] = useProblemFocus()

  async function change(): Promise<void> {
    setChecked(true)
    if (isBusy) return
    if (current === '' || !isUsable(next)) {
      focusProblem()
      return
    }
    setBusy(true)
    setProblem(undefined)
    try {
      await vault.changePassphrase(current, next.first)
      notify(texts.passphraseChanged)
      onClose()
    } catch (error) {
      setProblem(explain(error))
      setBusy(false)
      focusProblem()
    }
  }

  return (
    <Dialog title={texts.changePassphrase} onClose={onClose}>
      <form
        ref={form}
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
          problem={problem ?? (isChecked && current === '' ? texts.noPassphrase : undefined)}
          hasFocus
        />
        <PassphraseFields value={next} onInput={setNext} isChecked={isChecked} />
        <div class="actions">
          <button type="button" onClick={onClose}>
            {strings.cancel}
          </button>
          <button type="submit" class="primary" aria-busy={isBusy}>
            {isBusy ? strings.saveKey.checking : texts.changePassphrase}
          </button>
        </div>
      </form>
    </Dialog>
  )
}
