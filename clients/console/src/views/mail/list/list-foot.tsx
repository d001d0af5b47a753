import type { JSX } from 'preact'
import { strings } from '../../../strings.ts'
import { useWorkspace } from '../../workspace-context.ts'

const { mail } = strings

interface Properties {
  readonly isSearching: boolean
  /** Conversations that are left out, because they are ignored or of blocked agents. */
  readonly hidden: number
  readonly showsHidden: boolean
  readonly onShowHidden: () => void
}

/** How far the history was read, and what is left out. */
export function ListFoot({ isSearching, hidden, showsHidden, onShowHidden }: Properties): JSX.Element {
  const { archive, history, texts } = useWorkspace()
  const { isComplete, isCut, from } = history.progress.value
  const count = archive.entries.value.length
  const sealed = texts.waiting.value
  const soFar = mail.loading(count, isComplete ? 0 : from - 1, sealed)
  const isDone = isComplete && sealed === 0
  const text = isSearching
    ? isDone
      ? mail.allSearched(count, isCut)
      : mail.searchedSoFar(soFar)
    : isDone
      ? mail.allHere(count, isCut)
      : soFar
  return (
    <footer class="pane-foot">
      <span class="hint" role="status">
        {text}
      </span>
      {hidden > 0 && (
        <button type="button" class="quiet small" aria-pressed={showsHidden} onClick={onShowHidden}>
          {showsHidden ? strings.requests.hideIgnored : strings.requests.showIgnored(hidden)}
        </button>
      )}
    </footer>
  )
}
