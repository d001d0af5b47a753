/** Which rows of a list of equal heights must be in the page. */
interface Window {
  readonly first: number
  /** One past the last. */
  readonly end: number
}

/** Rows beyond the visible ones, so that a quick scroll does not show an empty list. */
const OVERSCAN = 6

export function windowOf(view: { count: number; rowHeight: number; scrollTop: number; height: number }): Window {
  const { count, rowHeight, scrollTop, height } = view
  const first = Math.max(0, Math.min(count, Math.floor(scrollTop / rowHeight)) - OVERSCAN)
  const end = Math.min(count, Math.ceil((scrollTop + height) / rowHeight) + OVERSCAN)
  return { first, end: Math.max(first, end) }
}

/** Where to scroll so that a row is in view. The current position if it already is. */
export function scrollTopFor(row: number, view: { rowHeight: number; scrollTop: number; height: number }): number {
  const { rowHeight, scrollTop, height } = view
  const top = row * rowHeight
  if (top < scrollTop) return top
  return top + rowHeight > scrollTop + height ? top + rowHeight - height : scrollTop
}
