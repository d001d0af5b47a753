import type { JSX } from 'preact'
import { notify } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from './busy-button.tsx'

/** Shows a value that people pass on, such as an id, with a button that copies it. */
export function Copyable({ value, label }: { value: string; label: string }): JSX.Element {
  return (
    <span class="copyable">
      <span class="code">{value}</span>
      <BusyButton
        class="quiet small"
        label={`${strings.copy}: ${label}`}
        onPress={async () => {
          await navigator.clipboard.writeText(value)
          notify(strings.copied)
        }}
      >
        {strings.copy}
      </BusyButton>
    </span>
  )
}
