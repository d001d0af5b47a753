import { useEffect, useRef } from 'preact/hooks'
import { registerShortcut } from '../../state/shortcuts.ts'

/** A shortcut that works while the component is shown. */
export function useShortcut(keys: string, label: string, run: () => void): void {
  const latest = useRef(run)
  latest.current = run
  useEffect(() => registerShortcut({ keys, label, run: () => latest.current() }), [keys, label])
}
