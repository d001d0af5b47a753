import { useEffect, useRef, useState } from 'preact/hooks'

/** @returns a ref for a form, and a function that moves the focus to the first field of it that has a problem. */
export function useProblemFocus(): [{ current: HTMLFormElement | null }, () => void] {
  const form = useRef<HTMLFormElement>(null)
  const [wanted, setWanted] = useState(0)
  // After the page shows the problem.
  useEffect(() => {
    if (wanted > 0) form.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus()
  }, [wanted])
  return [form, () => setWanted((count) => count + 1)]
}
