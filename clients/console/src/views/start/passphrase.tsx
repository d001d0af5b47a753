import type { JSX } from 'preact'
import { strings } from '../../strings.ts'
import { isLongEnough } from '../../vault/header.ts'
import { Field } from '../parts/field.tsx'

const { start } = strings

interface NewPassphrase {
  readonly first: string
  readonly second: string
}

export const NO_PASSPHRASE: NewPassphrase = { first: '', second: '' }

export function isUsable({ first, second }: NewPassphrase): boolean {
  return isLongEnough(first) && first === second
}

interface Properties {
  readonly value: NewPassphrase
  readonly onInput: (value: NewPassphrase) => void
  /** Whether the person has tried to go on, so that empty fields are a problem. */
  readonly isChecked: boolean
}

/** Asks twice, because nobody can recover a key behind a mistyped passphrase. */
export function PassphraseFields({ value, onInput, isChecked }: Properties): JSX.Element {
  const isShort = !isLongEnough(value.first)
  // The second text is compared only once it is as long as the first, so that nobody is corrected while typing it.
  const isWrong = value.first !== value.second && (isChecked || value.second.length >= value.first.length)
  return (
    <>
      <Field
        label={start.passphrase}
        type="password"
        autocomplete="new-password"
        value={value.first}
        onInput={(first) => onInput({ ...value, first })}
        hint={start.passphraseHint}
        problem={isChecked && isShort ? start.passphraseShort : undefined}
      />
      <Field
        label={start.repeat}
        type="password"
        autocomplete="new-password"
        value={value.second}
        onInput={(second) => onInput({ ...value, second })}
        problem={isWrong ? start.repeatWrong : undefined}
      />
    </>
  )
}
