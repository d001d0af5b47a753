import type { JSX } from 'preact'
import { useEffect, useId, useRef } from 'preact/hooks'

interface Properties {
  readonly label: string
  readonly value: string
  readonly onInput: (value: string) => void
  readonly hint?: string | undefined
  /** What is wrong with the value. Read out when it appears. */
  readonly problem?: string | undefined
  readonly type?: 'text' | 'password' | 'url'
  readonly rows?: number
  readonly autocomplete?: string
  readonly isRequired?: boolean
  readonly hasFocus?: boolean
  readonly isCode?: boolean
  readonly maxLength?: number
  readonly isLabelHidden?: boolean
  readonly placeholder?: string | undefined
}

/** A labelled input with its hint and its problem. */
export function Field(properties: Properties): JSX.Element {
  const { label, value, onInput, hint, problem, type = 'text', rows, isRequired = true } = properties
  const id = useId()
  const input = useRef<HTMLInputElement>(null)
  const area = useRef<HTMLTextAreaElement>(null)
  // The attribute `autofocus` works only once per page.
  useEffect(() => {
    if (properties.hasFocus === true) (input.current ?? area.current)?.focus()
  }, [])
  const shared = {
    id,
    value,
    required: isRequired,
    spellcheck: rows !== undefined && properties.isCode !== true,
    'aria-invalid': problem !== undefined,
    'aria-describedby': `${id}-hint`,
    class: properties.isCode === true ? 'code' : '',
    ...(properties.placeholder === undefined ? {} : { placeholder: properties.placeholder }),
    ...(properties.maxLength === undefined ? {} : { maxLength: properties.maxLength }),
  }
  return (
    <div class="field">
      <label for={id} class={properties.isLabelHidden === true ? 'hidden-text' : ''}>
        {label}
      </label>
      {rows === undefined ? (
        <input
          {...shared}
          ref={input}
          // The types of Preact want a single type, because each one has its own roles.
          type={type as 'text'}
          autocomplete={properties.autocomplete ?? 'off'}
          autocapitalize="none"
          onInput={(event) => onInput(event.currentTarget.value)}
        />
      ) : (
        <textarea {...shared} ref={area} rows={rows} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
      <p id={`${id}-hint`} class={problem === undefined ? 'hint' : 'problem'} aria-live="polite">
        {problem ?? hint}
      </p>
    </div>
  )
}

interface ChoiceProperties<Value extends string> {
  readonly label: string
  readonly value: Value
  readonly options: Readonly<Record<Value, string>>
  readonly onChange: (value: Value) => void
  readonly isHidden?: boolean
}

export function Choice<Value extends string>(properties: ChoiceProperties<Value>): JSX.Element {
  const { label, value, options, onChange, isHidden = false } = properties
  const id = useId()
  return (
    <div class="field">
      <label for={id} class={isHidden ? 'hidden-text' : ''}>
        {label}
      </label>
      <select id={id} value={value} onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {(Object.entries(options) as [Value, string][]).map(([one, text]) => (
          <option key={one} value={one}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface SwitchProperties {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
  readonly hint?: string
  readonly isDisabled?: boolean
}

export function Switch({ label, isOn, onChange, hint, isDisabled = false }: SwitchProperties): JSX.Element {
  const id = useId()
  return (
    <div class="switch">
      <input
        id={id}
        type="checkbox"
        checked={isOn}
        disabled={isDisabled}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.currentTarget.checked)}
      />
      <label for={id}>{label}</label>
      {hint !== undefined && (
        <p id={`${id}-hint`} class="hint">
          {hint}
        </p>
      )}
    </div>
  )
}
