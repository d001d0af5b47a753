import type { JSX } from 'preact'
import { dismiss, notices } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Icon } from './icon.tsx'

/** Announces what was done and what failed. The region is always there, so that screen readers follow it. */
export function Notices(): JSX.Element {
  return (
    <section class="notices" aria-label={strings.notices} aria-live="polite">
      {notices.value.map(({ id, kind, text }) => (
        <div key={id} class={`notice ${kind}`}>
          <span class="notice-text">{text}</span>
          <button type="button" class="quiet square" aria-label={strings.dismiss} onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </section>
  )
}
