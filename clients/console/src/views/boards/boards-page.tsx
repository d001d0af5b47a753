import type { BoardDetails } from '@svc/contracts/resources.ts'
import { parseAddress } from '@svc/envelope/address.ts'
import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { attempt } from '../../state/failures.ts'
import { goTo, hrefOf, route } from '../../state/route.ts'
import { strings } from '../../strings.ts'
import { Empty } from '../parts/empty.tsx'
import { Field } from '../parts/field.tsx'
import { ForeignTitle } from '../parts/text.tsx'
import { useWorkspace } from '../workspace-context.ts'
import { BoardPane } from './board-pane.tsx'
import { CreateBoard } from './create-board.tsx'

const { boards: texts } = strings

/** Boards that this agent may find, and the one that was chosen. */
export function BoardsPage(): JSX.Element {
  const { boards, agentId } = useWorkspace()
  const [isCreating, setCreating] = useState(false)
  const { id } = route.value
  const all = boards.all.value
  useEffect(() => {
    void attempt(() => boards.refresh())
  }, [])
  const isFollowed = (board: BoardDetails): boolean => boards.marks.value.subscribed.includes(board.id)
  const mine = (all ?? []).filter(({ owner }) => owner === agentId)
  const followed = (all ?? []).filter((board) => board.owner !== agentId && isFollowed(board))
  const others = (all ?? []).filter((board) => board.owner !== agentId && !isFollowed(board))
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
          {all === undefined && <p role="status">{strings.loading}</p>}
          {all?.length === 0 && <Empty title={texts.empty} hint={texts.emptyHint} />}
          <BoardList title={texts.mine} boards={mine} />
          <BoardList title={texts.followed} boards={followed} />
          <BoardList title={texts.others} boards={others} />
          <OpenById />
        </div>
      </section>
      <section class="pane-reader">
        {id === undefined ? <Empty title={texts.nothingChosen} /> : <BoardPane key={id} id={id} />}
      </section>
      {isCreating && <CreateBoard onClose={() => setCreating(false)} />}
    </div>
  )
}

function BoardList({ title, boards }: { title: string; boards: readonly BoardDetails[] }): JSX.Element | null {
  const { id } = route.value
  if (boards.length === 0) return null
  return (
    <section class="board-list" aria-label={title}>
      <h2>{title}</h2>
      <ul>
        {boards.map((board) => (
          <li key={board.id}>
            <a href={hrefOf('boards', board.id)} aria-current={board.id === id ? 'true' : undefined}>
              <span class="board-title">
                <ForeignTitle text={board.title} />
              </span>
              <span class="hint">{texts.visibilityShort[board.visibility]}</span>
            </a>
          </li>
        ))}
      </ul>
    </section>
  )
}

/** An unlisted board is found only by its id. */
function OpenById(): JSX.Element {
  const [id, setId] = useState('')
  const [isChecked, setChecked] = useState(false)
  const wanted = id.trim().replace(/^board:/, '')
  const isBoard = parseAddress(`board:${wanted}`) !== undefined
  return (
    <form
      class="inline-form open-by-id"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        setChecked(true)
        if (isBoard) goTo('boards', wanted)
      }}
    >
      <Field
        label={texts.openById}
        value={id}
        onInput={setId}
        problem={isChecked && !isBoard ? texts.idWrong : undefined}
      />
      <button type="submit">{texts.openButton}</button>
    </form>
  )
}
