import { useEffect, useMemo, useState } from 'preact/hooks'
import { Feed } from '../../state/boards/feed.ts'
import { newPosts } from '../../state/boards/places.ts'
import { postsSinceUnread } from '../../state/boards/unread-posts.ts'
import { attempt, inPassing } from '../../state/failures.ts'
import { useWorkspace } from '../workspace-context.ts'

const REFRESH_MS = 10_000

/** The posts of a board, kept up to date while they are shown, and the ids of those that were unread when they were shown. */
export function useFeed(boardId: string): { feed: Feed; fresh: ReadonlySet<string> } {
  const workspace = useWorkspace()
  const { context, archive, unread, people } = workspace
  const feed = useMemo(() => new Feed(context, boardId), [boardId])
  const [fresh, setFresh] = useState<ReadonlySet<string>>(new Set())

  useEffect(() => {
    // An answer can come after the person has left the board.
    let isLeft = false
    const isShown = (): boolean => !isLeft && document.visibilityState === 'visible'
    const markRead = (): void => {
      const posts = feed.posts.value
      const count = postsSinceUnread(workspace, boardId)
      // The newest posts of a long board are read only when a person asks for them.
      if (posts === undefined || count === 0 || feed.hasMore.value || !isShown()) return
      const found = newPosts(posts, count, (from) => people.isOwn(from))
      setFresh((before) => new Set([...before, ...found]))
      unread.markRead(archive.posts.value.get(boardId) ?? [])
    }
    const refresh = (): void => inPassing(feed.refresh().then(markRead))
    const refreshIfShown = (): void => {
      if (isShown()) refresh()
    }
    void attempt(() => feed.readMore().then(markRead))
    const stop = workspace.onArrival(({ kind, message }) => {
      if (kind === 'board' && message.envelope.to === `board:${boardId}`) refresh()
    })
    const timer = setInterval(refreshIfShown, REFRESH_MS)
    document.addEventListener('visibilitychange', refreshIfShown)
    return () => {
      isLeft = true
      stop()
      clearInterval(timer)
      document.removeEventListener('visibilitychange', refreshIfShown)
    }
  }, [boardId])
  return { feed, fresh }
}
