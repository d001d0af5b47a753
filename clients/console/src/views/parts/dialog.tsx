import type { ComponentChildren, JSX } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { strings } from '../../strings.ts'
import { Icon } from './icon.tsx'

interface Properties {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly isWide?: boolean
}

/** A modal dialog: the platform's own, which traps the focus, closes with Escape, and gives the focus back. */
export function Dialog({ title, onClose, children, isWide = false }: Properties): JSX.Element {
  const element = useRef<HTMLDialogElement>(null)
  const heading = useId()
  // Before the effects of what is inside, which may move the focus to a field.
  useLayoutEffect(() => {
    const before = document.activeElement
    element.current?.showModal()
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape and the button close it too
    <dialog
      ref={element}
      class={isWide ? 'wide' : ''}
      aria-labelledby={heading}
      onClose={onClose}
      onClick={(event) => {
        // A click on the backdrop is a click on the dialog itself.
        if (event.target === element.current) onClose()
      }}
    >
      <div class="dialog-box">
        <div class="dialog-head">
          <h2 id={heading}>{title}</h2>
          <button type="button" class="quiet square" aria-label={strings.close} onClick={onClose}>
            <Icon name="close" />
          </button>
        </div>
        {children}
      </div>
    </dialog>
  )
}
