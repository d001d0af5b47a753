import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { shortId } from '../../state/agent/short-id.ts'
import { unreadOnBoard } from '../../state/boards/unread-posts.ts'
import { attempt } from '../../state/failures.ts'
import { route } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Empty } from '../parts/empty.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { BoardList, type Listed } from './board-list.tsx'
import { BoardPane } from './board-pane.tsx'
import { CreateBoard } from './create-board.tsx'
import { OpenById } from './open-by-id.tsx'

const { boards: texts } = strings

/** Boards that this agent may find, and the one that was chosen. */
export function BoardsPage(): JSX.Element {
  const workspace = useWorkspace()
  const { boards, agentId, archive } = workspace
  const [isCreating, setCreating] = useState(false)
  const [created, setCreated] = useState<string | undefined>(undefined)
  const { id } = route.value
  const all = boards.all.value
  // An unread post shows that the agent is subscribed, wherever that was done.
  const unread = [...archive.posts.value.keys()].filter((board) => unreadOnBoard(workspace, board) > 0)
  useEffect(() => {
    void attempt(() => boards.refresh())
  }, [])
  useEffect(() => {
    for (const board of unread) boards.noteSubscription(board)
  }, [unread.join()])

  const isFollowed = ({ id }: Listed): boolean => boards.marks.value.subscribed.includes(id)
  const mine = (all ?? []).filter(({ owner }) => owner === agentId)
  const foreign = (all ?? []).filter(({ owner }) => owner !== agentId)
  // A board that the agent may not read any more still counts as unread until it is opened.
  const lost = unread.filter((board) => !all?.some(({ id }) => id === board))
  const followed = [...foreign.filter(isFollowed), ...lost.map((id) => ({ id, title: shortId(id) }))]
  const isEmpty = all?.length === 0 && followed.length === 0
  return (
    <div class={`panes ${id === undefined ? '' : 'reading'}`}>
      <section class="pane-list" aria-label={texts.list}>
        <header class="pane-head">
          <h1>{strings.pages.boards}</h1>
          <button type="button" class="small" onClick={() => setCreating(true)}>
            {texts.create}
          </button>
        </header>
        <div class="pane-scroll">
          {all === undefined && (
            <p class="loading" role="status">
              {strings.loading}
            </p>
          )}
          {isEmpty && <Empty title={texts.empty} hint={texts.emptyHint} />}
          <BoardList title={texts.mine} boards={mine} />
          <BoardList title={texts.followed} hint={texts.followedHint} boards={all === undefined ? [] : followed} />
          <BoardList title={texts.others} boards={foreign.filter((board) => !isFollowed(board))} />
          <OpenById />
        </div>
      </section>
      <section class="pane-reader" aria-label={strings.pages.boards}>
        {id === undefined ? (
          <Empty title={isEmpty ? '' : texts.nothingChosen} />
        ) : (
          <BoardPane key={id} id={id} hasFocus={id === created} />
        )}
      </section>
      {isCreating && <CreateBoard onClose={() => setCreating(false)} onCreated={setCreated} />}
    </div>
  )
}
