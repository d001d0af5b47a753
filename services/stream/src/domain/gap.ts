/**
 * What an event that was heard means to a stream that has delivered, or passed over, everything up to `last`. Cursors of an
 * agent are contiguous and become visible in order (spec 9.3), so arithmetic finds what is missing:
 * `write` it comes next; `drop` it is not new; `read` something before it was not heard, so history has to be read.
 */
export function stepFor(last: number, cursor: number): 'write' | 'drop' | 'read' {
  if (cursor <= last) return 'drop'
  return cursor === last + 1 ? 'write' : 'read'
}
