/** Short messages at the edge of the page, which screen readers announce. */
import { signal } from '@preact/signals'

interface Notice {
  readonly id: number
  readonly kind: 'done' | 'failed' | 'advice'
  readonly text: string
}

const SHOWN_MS = 6_000
const MAX_NOTICES = 3

export const notices = signal<readonly Notice[]>([])
let last = 0

export function notify(text: string, kind: Notice['kind'] = 'done'): void {
  last += 1
  const notice = { id: last, kind, text }
  notices.value = [...notices.value, notice].slice(-MAX_NOTICES)
  // A failure or an advice stays until it is dismissed: it may need more time to read.
  if (kind === 'done') setTimeout(() => dismiss(notice.id), SHOWN_MS)
}

/** For a lock: the notices are about agents whose data is locked. */
export function dismissAll(): void {
  notices.value = []
}

export function dismiss(id: number): void {
  notices.value = notices.value.filter((notice) => notice.id !== id)
}
