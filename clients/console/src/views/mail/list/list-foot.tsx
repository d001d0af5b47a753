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
  const { isComplete, from } = history.progress.value
  const count = archive.entries.value.length
  const sealed = texts.waiting.value
  const text = isComplete && sealed === 0 ? mail.readAll(count) : mail.reading(count, isComplete ? 0 : from - 1, sealed)
  return (
    <footer class="pane-foot">
      <span class="hint" role="status">
        {isSearching ? mail.searched(text) : text}
      </span>
      {hidden > 0 && (
        <button type="button" class="quiet small" aria-pressed={showsHidden} onClick={onShowHidden}>
          {showsHidden ? strings.requests.hideIgnored : strings.requests.showIgnored(hidden)}
        </button>
      )}
    </footer>
  )
}
