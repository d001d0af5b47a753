import type { Archive } from '../mail/archive.ts'
import { isUnread, type Unread } from '../mail/unread.ts'

interface Parts {
  readonly archive: Pick<Archive, 'posts'>
  readonly unread: Pick<Unread, 'place'>
}

/** Unread posts of all boards whose events this agent gets: those that it owns, writes or reads. */
export function unreadPosts(workspace: Parts): number {
  return [...workspace.archive.posts.value.keys()].reduce((sum, id) => sum + unreadOnBoard(workspace, id), 0)
}

export function unreadOnBoard({ archive, unread }: Parts, boardId: string): number {
  const place = unread.place.value
  return (archive.posts.value.get(boardId) ?? []).filter((cursor) => isUnread(place, cursor)).length
}

/** The posts of other agents from the first unread one on. */
export function postsSinceUnread({ archive, unread }: Parts, boardId: string): number {
  const place = unread.place.value
  const cursors = archive.posts.value.get(boardId) ?? []
  const first = Math.min(...cursors.filter((cursor) => isUnread(place, cursor)))
  return cursors.filter((cursor) => cursor >= first).length
}
