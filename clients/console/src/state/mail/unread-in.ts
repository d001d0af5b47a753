import type { Workspace } from '../agent/workspace.ts'

/** Unread messages of one list, in the whole history. */
export function unreadIn(lane: 'inbox' | 'requests', { conversations }: Pick<Workspace, 'conversations'>): number {
  return conversations.unread.value[lane]
}
