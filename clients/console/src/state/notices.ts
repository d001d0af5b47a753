/** A short message in the flow of the page, which screen readers announce. A new one replaces the one before. */
import { signal } from '@preact/signals'

interface Notice {
  readonly kind: 'done' | 'failed' | 'advice'
  readonly text: string
  /** What the notice leads to. */
  readonly action?: NoticeAction | undefined
}

interface NoticeAction {
  readonly label: string
  readonly run: () => void
}

const SHOWN_MS = 8_000

export const notice = signal<Notice | undefined>(undefined)

export function notify(text: string, kind: Notice['kind'] = 'done', action?: NoticeAction): void {
  const next = { kind, text, action }
  notice.value = next
  // A failure, an advice or a notice that leads somewhere stays until it is dismissed or replaced: it may need more time.
  if (kind === 'done' && action === undefined) setTimeout(() => notice.peek() === next && dismiss(), SHOWN_MS)
}

export function dismiss(): void {
  notice.value = undefined
}
