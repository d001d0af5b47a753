/**
 * Says what to do with a received event if the stream has written or skipped everything up to `last`. The cursors of an
 * agent are contiguous and become visible in order (spec 9.3), so arithmetic finds gaps. `write`: the event is next.
 * `drop`: it is not new. `read`: an earlier event was not received, so read history.
 */
export function stepFor(last: number, cursor: number): 'write' | 'drop' | 'read' {
  if (cursor <= last) return 'drop'
  return cursor === last + 1 ? 'write' : 'read'
}
