import type { ComponentChildren, JSX } from 'preact'
import { useState } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'

interface Properties {
  readonly children: ComponentChildren
  readonly onPress: () => Promise<unknown>
  readonly class?: string
  readonly label?: string | undefined
  readonly title?: string | undefined
  readonly isDisabled?: boolean
  readonly isPressed?: boolean
}

/** A button of a call to the service. It cannot be pressed twice, and a failure becomes a notice. */
export function BusyButton(properties: Properties): JSX.Element {
  const [isBusy, setBusy] = useState(false)
  return (
    <button
      type="button"
      class={properties.class ?? ''}
      aria-label={properties.label}
      aria-pressed={properties.isPressed}
      title={properties.title}
      aria-busy={isBusy}
      disabled={properties.isDisabled === true}
      onClick={async () => {
        if (isBusy) return
        setBusy(true)
        await attempt(properties.onPress)
        setBusy(false)
      }}
    >
      {properties.children}
    </button>
  )
}
