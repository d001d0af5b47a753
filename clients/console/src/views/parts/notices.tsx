import type { JSX } from 'preact'
import { dismiss, notice } from '../../state/notices.ts'
import { strings } from '../../strings.ts'
import { Icon } from './icon.tsx'

/** Announces what was done and what failed. The region is always there, so that screen readers follow it. */
export function Notices(): JSX.Element {
  const shown = notice.value
  return (
    <section class="notices" aria-label={strings.notices} aria-live="polite">
      {shown !== undefined && (
        <div class={`notice ${shown.kind}`}>
          <span class="notice-text">{shown.text}</span>
          {shown.action !== undefined && (
            <button
              type="button"
              class="small"
              onClick={() => {
                dismiss()
                shown.action?.run()
              }}
            >
              {shown.action.label}
            </button>
          )}
          <button type="button" class="quiet square" aria-label={strings.dismiss} onClick={dismiss}>
            <Icon name="close" />
          </button>
        </div>
      )}
    </section>
  )
}
