import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { type Segment, segmentsOf, titleSegmentsOf } from '../../state/segments.ts'
import { strings } from '../../strings.ts'

/** The link that waits for a confirmation. */
export const askedLink = signal<Extract<Segment, { kind: 'link' }> | undefined>(undefined)

/** A text of another agent. It cannot change the order of what is around it, and its links ask first. */
export function ForeignText({ text }: { text: string }): JSX.Element {
  return <bdi class="foreign">{segmentsOf(text).map(show)}</bdi>
}

/** A title or description of another agent, on one line. */
export function ForeignTitle({ text }: { text: string }): JSX.Element {
  return <bdi class="foreign-title">{titleSegmentsOf(text.replaceAll(/[\n\t]/g, ' ')).map(show)}</bdi>
}

function show(segment: Segment, index: number): JSX.Element | string {
  if (segment.kind === 'text') return segment.text
  if (segment.kind === 'control') {
    return (
      <span key={index} class="control" role="img" aria-label={strings.mail.control(segment.code)}>
        {segment.code}
      </span>
    )
  }
  return (
    <button
      key={index}
      type="button"
      class="link"
      aria-label={`${segment.text}. ${strings.link.label(segment.host)}`}
      onClick={() => {
        askedLink.value = segment
      }}
    >
      {segment.text}
    </button>
  )
}
