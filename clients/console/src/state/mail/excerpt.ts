import { titleSegmentsOf } from '../segments.ts'

const LENGTH = 160
const BEFORE = 30

/** The beginning of a text, or the part around what was searched for, on one line. The open message shows hidden characters. */
export function excerptOf(text: string, wanted = ''): string {
  const at = wanted === '' ? -1 : text.toLocaleLowerCase().indexOf(wanted.toLocaleLowerCase())
  const start = at > BEFORE ? at - BEFORE : 0
  const line = text.slice(start, start + LENGTH).replaceAll(/\s+/g, ' ')
  const shown = titleSegmentsOf(line)
    .map((segment) => (segment.kind === 'text' ? segment.text : ''))
    .join('')
  return start > 0 ? `…${shown}` : shown
}
