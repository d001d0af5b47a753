import type { JSX } from 'preact'
import { hrefOf } from '../../../state/route.ts'
import { strings } from '../../../strings.ts'
import { Empty } from '../../parts/empty.tsx'
import { ForeignTitle } from '../../parts/text.tsx'
import { Time } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'

const PREVIEW_LENGTH = 160

/** Messages that were begun and not sent. */
export function DraftsPage(): JSX.Element {
  const { drafts, boards } = useWorkspace()
  const nameOf = (to: string): string => {
    const title = boards.all.value?.find(({ id }) => to === `board:${id}`)?.title
    return title ?? (to === '' ? strings.drafts.nobody : to)
  }
  const all = drafts.all.value
  return (
    <div class="column">
      <h1>{strings.pages.drafts}</h1>
      {all.length === 0 && <Empty title={strings.drafts.empty} hint={strings.drafts.emptyHint} />}
      <ul class="cards">
        {all.map(({ id, to, text, changedAtMs }) => (
          <li key={id} class="card-row">
            <a href={hrefOf('write', id)}>
              {strings.drafts.open} <ForeignTitle text={nameOf(to)} />
            </a>
            <Time seconds={changedAtMs / 1000} />
            <p class="preview">
              <ForeignTitle text={text.slice(0, PREVIEW_LENGTH)} />
            </p>
            <button type="button" class="quiet small" onClick={() => drafts.discard(id)}>
              {strings.write.discard}
            </button>
          </li>
        ))}
      </ul>
    </div>
  )
}
