import type { JSX } from 'preact'

/** Outlines on a grid of 24. Decoration only: the text beside them says the same. */
const PATHS = {
  inbox: 'M4 13h4l2 3h4l2-3h4M4 13l3-8h10l3 8v6H4z',
  requests: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21a7 7 0 0 1 14 0M19 8v6M16 11h6',
  drafts: 'M4 20h4L19 9l-4-4L4 16zM13 7l4 4',
  write: 'M12 5v14M5 12h14',
  boards: 'M4 5h16v10H9l-5 4z',
  contacts: 'M12 12a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM4 21a8 8 0 0 1 16 0',
  settings: 'M4 7h9M17 7h3M4 17h3M11 17h9M15 5v4M9 15v4',
  check: 'M5 12.5 10 17 19 7',
  pin: 'M9 4h6l-1 6 3 3H7l3-3zM12 13v7',
  question: 'M9 9a3 3 0 1 1 4 3c-1 .4-1 1-1 2M12 18h.01',
  warning: 'M12 4 2.5 20h19zM12 10v4M12 17h.01',
  lock: 'M6 11h12v9H6zM8.5 11V8a3.5 3.5 0 0 1 7 0v3',
  pen: 'M3 19c3-6 5-12 8-12s-3 9 0 9 3-4 5-4 1 4 5 4',
  up: 'M6 14l6-6 6 6',
  back: 'M14 6l-6 6 6 6',
  close: 'M6 6l12 12M18 6 6 18',
  key: 'M8 15a4 4 0 1 1 0-8 4 4 0 0 1 0 8zM12 11h9v4M17 11v3',
  keyboard: 'M3 7h18v10H3zM7 10h.01M11 10h.01M15 10h.01M8 14h8',
  swap: 'M7 4 3 8l4 4M3 8h14M17 12l4 4-4 4M21 16H7',
} as const

export type IconName = keyof typeof PATHS

export function Icon({ name }: { name: IconName }): JSX.Element {
  return (
    <svg class="icon" viewBox="0 0 24 24" aria-hidden="true" focusable="false">
      <path d={PATHS[name]} />
    </svg>
  )
}
