import type { JSX } from 'preact'
import type { Filter } from '../../../state/mail/search.ts'
import { strings } from '../../../strings.ts'

const { mail } = strings

/** Filters and searches what is loaded. */
export function FilterBar({ filter, onChange }: { filter: Filter; onChange: (filter: Filter) => void }): JSX.Element {
  return (
    <search class="filters">
      <input
        type="search"
        aria-label={mail.search}
        placeholder={mail.search}
        value={filter.text}
        onInput={(event) => onChange({ ...filter, text: event.currentTarget.value })}
      />
      <fieldset class="chips">
        <legend class="hidden-text">{mail.filters}</legend>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.unreadOnly}
          onClick={() => onChange({ ...filter, unreadOnly: !filter.unreadOnly })}
        >
          {mail.unreadOnly}
        </button>
        <button
          type="button"
          class="chip"
          aria-pressed={filter.unackedOnly}
          onClick={() => onChange({ ...filter, unackedOnly: !filter.unackedOnly })}
        >
          {mail.unackedOnly}
        </button>
      </fieldset>
    </search>
  )
}
