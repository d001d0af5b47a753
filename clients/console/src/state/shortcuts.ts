/** Keys that do something wherever the focus is, but for fields. The dialog of `?` lists them. */
import { type ReadonlySignal, signal } from '@preact/signals'

export interface Shortcut {
  /** One key, such as `j`, or two in a row, such as `g i`. */
  readonly keys: string
  readonly label: string
  readonly run: () => void
}

/** The record of the preferences that has `areShortcutsOn`. */
export const SHORTCUTS = 'shortcuts'
/** The second key of two must come within this time. */
const SEQUENCE_MS = 1_500
const FIELDS = 'input:not([type=checkbox], [type=radio]), textarea, select, [contenteditable]'

const registered = signal<readonly Shortcut[]>([])
/** Those that work now. */
export const shortcuts: ReadonlySignal<readonly Shortcut[]> = registered
/** Single keys disturb people who dictate, so they can be turned off (WCAG 2.1.4). */
export const areShortcutsOn = signal(true)

/** The newest of the same keys wins. @returns a function that takes it away. */
export function registerShortcut(shortcut: Shortcut): () => void {
  registered.value = [...registered.peek(), shortcut]
  return () => {
    registered.value = registered.peek().filter((other) => other !== shortcut)
  }
}

/** Which shortcut the keys name, or whether they begin one. */
export function findShortcut(all: readonly Shortcut[], keys: readonly string[]): Shortcut | 'begun' | undefined {
  const typed = keys.join(' ')
  const found = all.findLast((shortcut) => shortcut.keys === typed)
  if (found !== undefined) return found
  return all.some((shortcut) => shortcut.keys.startsWith(`${typed} `)) ? 'begun' : undefined
}

/** @returns a function that ends it. */
export function followKeys(): () => void {
  let before: { key: string; atMs: number } | undefined
  const onKey = (event: KeyboardEvent): void => {
    if (!areShortcutsOn.value || event.defaultPrevented || isElsewhere(event)) return
    const { key } = event
    const isSecond = before !== undefined && event.timeStamp - before.atMs < SEQUENCE_MS
    const found =
      (isSecond && before !== undefined ? findShortcut(registered.peek(), [before.key, key]) : undefined) ??
      findShortcut(registered.peek(), [key])
    before = found === 'begun' ? { key, atMs: event.timeStamp } : undefined
    if (found === undefined || found === 'begun') return
    event.preventDefault()
    found.run()
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

/** Whether a person types into a field, answers a dialog, or means a shortcut of the browser. */
function isElsewhere({ target, ctrlKey, metaKey, altKey }: KeyboardEvent): boolean {
  if (ctrlKey || metaKey || altKey) return true
  if (document.querySelector('dialog[open]') !== null) return true
  return target instanceof Element && target.closest(FIELDS) !== null
}
