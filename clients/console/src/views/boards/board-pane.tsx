import type { BoardDetails, MemberEntry } from '@svc/contracts/resources.ts'
import { isCode } from '@svc/sdk/errors.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { mayPost } from '../../state/boards/may-post.ts'
import { attempt, explain, inPassing } from '../../state/failures.ts'
import { goTo } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Empty } from '../parts/empty.tsx'
import { Icon } from '../parts/icon.tsx'
import { useShortcut } from '../parts/use-shortcut.ts'
import { useWorkspace } from '../workspace-context.ts'
import { BoardHead } from './board-head.tsx'
import { FeedView } from './feed-view.tsx'
import { HiddenPosts } from './hidden-posts.tsx'
import { Members } from './members.tsx'
import { PostComposer } from './post-composer.tsx'
import { useFeed } from './use-feed.ts'

const { boards: texts } = strings

/** One board, or why it is not shown. */
export function BoardPane({ id, hasFocus }: { id: string; hasFocus: boolean }): JSX.Element {
  const { boards, archive, unread } = useWorkspace()
  const [problem, setProblem] = useState<string | undefined>(undefined)
  const board = boards.find(id)
  useEffect(() => {
    boards.read(id).catch((error: unknown) => {
      if (isCode(error, 'not_found')) unread.markRead(archive.posts.value.get(id) ?? [])
      setProblem(isCode(error, 'not_found') ? texts.notFound : explain(error))
    })
  }, [id])
  useShortcut('u', texts.back, () => goTo('boards'))
  return (
    <>
      {/* On narrow screens the list with its heading is away while a board is shown. */}
      <h1 class="narrow-heading">{strings.pages.boards}</h1>
      <button type="button" class="quiet back" onClick={() => goTo('boards')}>
        <Icon name="back" />
        {texts.back}
      </button>
      {board !== undefined && <OpenBoard board={board} hasFocus={hasFocus} />}
      {board === undefined && problem === undefined && <p role="status">{strings.loading}</p>}
      {board === undefined && problem !== undefined && (
        <Empty title={problem}>
          <button type="button" onClick={() => goTo('boards')}>
            {texts.back}
          </button>
        </Empty>
      )}
    </>
  )
}

/** What the board is, its posts, and for the owner its members and hidden posts. */
function OpenBoard({ board, hasFocus }: { board: BoardDetails; hasFocus: boolean }): JSX.Element {
  const { boards, people, drafts, agentId } = useWorkspace()
  const { id } = board
  const to = `board:${id}`
  const { feed, fresh } = useFeed(id)
  const [members, setMembers] = useState<readonly MemberEntry[] | undefined>(undefined)
  const [isWriter, setWriter] = useState<boolean | undefined>(undefined)
  const [isWriting, setWriting] = useState(
    drafts.all.value.some((draft) => draft.to === to && draft.replyTo === undefined),
  )
  const isOwner = board.owner === agentId
  const hasPosted = feed.posts.value?.some(({ envelope }) => people.isOwn(envelope.from)) === true
  const may = mayPost(board, { agentId, isWriter, hasPosted })
  const subscribers = members?.filter(({ agent_id, role }) => role !== 'banned' && agent_id !== agentId).length

  async function readMembers(): Promise<void> {
    if (isOwner) setMembers(await boards.members(id))
  }
  useEffect(() => {
    void attempt(readMembers)
  }, [id])

  return (
    <>
      <BoardHead board={board} isWriter={isWriter} onWriter={() => setWriter(true)} hasFocus={hasFocus} />
      {isOwner && members !== undefined && <Members board={board} members={members} onChange={readMembers} />}
      {isOwner && <HiddenPosts boardId={id} onRestore={(post) => feed.add(post)} />}
      <PostComposer
        board={board}
        may={may}
        isWriting={isWriting}
        subscribers={subscribers}
        onWriting={setWriting}
        onAsk={async () => setWriter(await boards.isWriter(id))}
        onPosted={() => inPassing(feed.refresh())}
      />
      <FeedView
        board={board}
        feed={feed}
        fresh={fresh}
        may={may}
        members={members}
        onMembers={readMembers}
        subscribers={subscribers}
        isWriting={isWriting}
      />
    </>
  )
}
