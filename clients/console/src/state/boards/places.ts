/** Where in a feed a person is: what is new there, and where the focus goes when a post disappears. */
import type { Message } from '@svc/contracts/resources.ts'

/**
 * The unread posts. An event has no place on the board, so they are counted: the newest posts of other agents.
 * @param posts oldest first. @param count of unread events.
 */
export function newPosts(
  posts: readonly Message[],
  count: number,
  isOwn: (from: string) => boolean,
): ReadonlySet<string> {
  const others = posts.filter(({ envelope }) => !isOwn(envelope.from)).map(({ envelope }) => envelope.id)
  return new Set(count === 0 ? [] : others.slice(-count))
}

/** The post that takes the place of one that is gone. @returns undefined if none follows it. */
export function successorOf(gone: string, before: readonly string[], after: readonly string[]): string | undefined {
  const remaining = new Set(after)
  return before.slice(before.indexOf(gone) + 1).find((id) => remaining.has(id))
}
