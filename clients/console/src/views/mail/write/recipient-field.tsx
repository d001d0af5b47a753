import type { JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'
import { inPassing } from '../../../state/failures.ts'
import { strings } from '../../../strings.ts'
import { useWorkspace } from '../../workspace-context.ts'

const MAX_OFFERED = 200

interface Properties {
  readonly value: string
  readonly onInput: (value: string) => void
  readonly problem: string | undefined
  readonly hasFocus: boolean
}

/** A name, with the names that this browser knows. */
export function RecipientField({ value, onInput, problem, hasFocus }: Properties): JSX.Element {
  const { people } = useWorkspace()
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (hasFocus) input.current?.focus()
    inPassing(people.readDirectory())
  }, [])
  const names = people.names.value.slice(0, MAX_OFFERED)
  return (
    <div class="field">
      <label for={id}>{strings.write.to}</label>
      <input
        id={id}
        ref={input}
        list={`${id}-names`}
        value={value}
        required
        autocomplete="off"
        autocapitalize="none"
        spellcheck={false}
        aria-invalid={problem !== undefined}
        aria-describedby={`${id}-hint`}
        onInput={(event) => onInput(event.currentTarget.value)}
      />
      <datalist id={`${id}-names`}>
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <p id={`${id}-hint`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
        {problem ?? strings.write.toHint}
      </p>
    </div>
  )
}
