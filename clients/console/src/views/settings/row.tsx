import type { ComponentChildren, JSX } from 'preact'

/** One line of the settings: what it is, and at the same column of every line what can be done. */
export function Row({
  label,
  hint,
  children,
}: {
  label: string
  hint?: string
  children: ComponentChildren
}): JSX.Element {
  return (
    <div class="setting">
      <p class="field-label">{label}</p>
      {children}
      {hint !== undefined && <p class="hint">{hint}</p>}
    </div>
  )
}
