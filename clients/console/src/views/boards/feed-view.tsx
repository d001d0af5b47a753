import type { JSX } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { threadsOf } from '../../state/boards/feed.ts'
import { successorOf } from '../../state/boards/places.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Empty } from '../parts/empty.tsx'
import { useShortcut } from '../parts/use-shortcut.ts'
import { useWorkspace } from '../workspace-context.ts'
import { type FeedProperties, Post } from './post.tsx'
import { elementOf } from './post-element.ts'

const { boards: texts } = strings

/** The posts of a board by thread. `j` and `k` move the focus between them. */
export function FeedView({ isWriting, ...shared }: FeedProperties & { isWriting: boolean }): JSX.Element {
  const { board, feed, fresh } = shared
  const posts = feed.posts.value
  const threads = threadsOf(posts ?? [])
  const order = threads.flatMap(({ root, replies }) => [root, ...replies].map(({ envelope }) => envelope.id))
  const firstNew = order.find((id) => fresh.has(id))
  const heading = useRef<HTMLHeadingElement>(null)
  const focused = useFocusedPost(order, () => heading.current?.focus())

  function move(by: number): void {
    const at = order.indexOf(focusedPost() ?? '')
    const next = order[at === -1 ? 0 : Math.max(0, Math.min(order.length - 1, at + by))]
    if (next !== undefined) elementOf(next)?.focus()
  }
  useShortcut('j', texts.next, () => move(1))
  useShortcut('k', texts.previous, () => move(-1))
  useShortcut('r', texts.reply, () => {
    const post = elementOf(focusedPost() ?? '')
    post?.querySelector<HTMLElement>('.reply-button')?.click()
  })

  return (
    <section
      class="feed"
      aria-label={texts.feed}
      onFocusCapture={() => {
        focused.current = focusedPost()
      }}
    >
      <header class="feed-head">
        <h3 ref={heading} tabIndex={-1}>
          {texts.feed}
        </h3>
        <p class="hint">{texts.feedHint}</p>
      </header>
      {posts === undefined && <p role="status">{strings.loading}</p>}
      {posts?.length === 0 && !isWriting && <NoPosts boardId={board.id} />}
      {feed.hasMore.value && <BusyButton onPress={() => feed.readMore()}>{texts.loadNewer}</BusyButton>}
      {threads.map(({ root, replies }) => (
        <div key={root.envelope.id} class="thread">
          <Post post={root} root={root} isFirstNew={root.envelope.id === firstNew} {...shared} />
          {replies.length > 0 && (
            <ol>
              {replies.map((reply) => (
                <li key={reply.envelope.id}>
                  <Post post={reply} root={root} isFirstNew={reply.envelope.id === firstNew} {...shared} />
                </li>
              ))}
            </ol>
          )}
        </div>
      ))}
    </section>
  )
}

function NoPosts({ boardId }: { boardId: string }): JSX.Element {
  const hidden = useWorkspace().boards.marks.value.hidden[boardId] ?? []
  if (hidden.length > 0) return <Empty title={texts.allHidden} hint={texts.allHiddenHint} />
  return <Empty title={texts.noPosts} hint={texts.noPostsHint} />
}

function focusedPost(): string | undefined {
  return document.activeElement?.closest<HTMLElement>('.post')?.dataset.id
}

/** When the post that has the focus disappears, the next one gets it, or what `onNone` focuses. */
function useFocusedPost(order: readonly string[], onNone: () => void): { current: string | undefined } {
  const focused = useRef<string | undefined>(undefined)
  const before = useRef(order)
  useLayoutEffect(() => {
    const gone = focused.current
    const isLost = document.activeElement === document.body || document.activeElement === null
    if (gone !== undefined && isLost && before.current.includes(gone) && !order.includes(gone)) {
      const next = successorOf(gone, before.current, order)
      if (next === undefined) onNone()
      else elementOf(next)?.focus()
    }
    before.current = order
  }, [order.join()])
  return focused
}
