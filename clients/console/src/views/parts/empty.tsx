import type { ComponentChildren, JSX } from 'preact'

/** Says that there is nothing to show, and why. */
export function Empty(properties: { title: string; hint?: string; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="empty">
      <p class="empty-title">{properties.title}</p>
      {properties.hint !== undefined && <p class="hint">{properties.hint}</p>}
      {properties.children}
    </div>
  )
}
