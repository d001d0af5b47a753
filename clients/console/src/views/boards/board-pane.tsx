import type { BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { Feed, threadsOf } from '../../state/boards/feed.ts'
import { attempt, explain } from '../../state/failures.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { BusyButton } from '../parts/busy-button.tsx'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { BoardHead } from './board-head.tsx'
import { HiddenPosts } from './hidden-posts.tsx'
import { Members } from './members.tsx'
import { Thread } from './post.tsx'
import { PostComposer } from './post-composer.tsx'

const { boards: texts } = strings

/** One board: what it is, its posts, and for the owner its members and hidden posts. */
export function BoardPane({ id }: { id: string }): JSX.Element {
  const workspace = useWorkspace()
  const { boards, context, agentId } = workspace
  const [board, setBoard] = useState<BoardDetails | undefined>(boards.all.value?.find((one) => one.id === id))
  const [members, setMembers] = useState<readonly MemberEntry[] | undefined>(undefined)
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const feed = useMemo(() => new Feed(context, id), [id])
  const isOwner = board?.owner === agentId

  async function readMembers(): Promise<void> {
    if (isOwner) setMembers(await boards.members(id))
  }

  useEffect(() => {
    boards.read(id).then(setBoard, (error: unknown) => {
      setProblem(isCode(error, 'not_found') ? texts.notFound : explain(error))
    })
    void attempt(() => feed.readMore())
    return workspace.onArrival(({ kind, message }) => {
      if (kind === 'board' && message.envelope.to === `board:${id}`) feed.add(message)
    })
  }, [id])
  useEffect(() => {
    void attempt(readMembers)
  }, [id, isOwner])

  const back = (
    <button type="button" class="quiet back" onClick={() => goTo('boards')}>
      <Icon name="back" />
      {texts.back}
    </button>
  )
  if (board === undefined) {
    return (
      <>
        {back}
        {problem === undefined ? <p role="status">{strings.loading}</p> : <Empty title={problem} />}
      </>
    )
  }
  const subscribers = members?.filter(({ agent_id, role }) => role !== 'banned' && agent_id !== agentId).length
  const posts = feed.posts.value
  return (
    <>
      {back}
      <BoardHead board={board} />
      {isOwner && members !== undefined && <Members board={board} members={members} onChange={readMembers} />}
      {isOwner && <HiddenPosts boardId={id} onRestore={(post) => feed.add(post)} />}
      <PostComposer board={board} subscribers={subscribers} onPosted={() => void attempt(() => feed.readMore())} />
      <section class="feed" aria-label={texts.feed}>
        {posts === undefined && <p role="status">{strings.loading}</p>}
        {posts?.length === 0 && <Empty title={texts.noPosts} hint={texts.noPostsHint} />}
        {feed.hasMore.value && <BusyButton onPress={() => feed.readMore()}>{texts.loadNewer}</BusyButton>}
        {threadsOf(posts ?? []).map((thread) => (
          <Thread key={thread.root.envelope.id} thread={thread} board={board} feed={feed} subscribers={subscribers} />
        ))}
      </section>
    </>
  )
}
