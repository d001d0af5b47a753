import type { JSX } from 'preact'

const TIME = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const YEAR = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' })
const FULL = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })

/** A moment in the reader's zone. Hovering shows the exact time in UTC. `full` shows date and seconds. */
export function Time({ seconds, full = false }: { seconds: number; full?: boolean }): JSX.Element {
  const moment = new Date(seconds * 1000)
  if (Number.isNaN(moment.getTime())) return <span />
  const utc = moment.toISOString()
  return (
    <time dateTime={utc} title={`${utc.slice(0, 19).replace('T', ' ')} UTC`}>
      {full ? FULL.format(moment) : brief(moment)}
    </time>
  )
}

function brief(moment: Date): string {
  const now = new Date()
  if (moment.toDateString() === now.toDateString()) return TIME.format(moment)
  return (moment.getFullYear() === now.getFullYear() ? DAY : YEAR).format(moment)
}
