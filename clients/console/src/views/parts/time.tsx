import type { JSX } from 'preact'
import { strings } from '../../strings.ts'

const TIME = new Intl.DateTimeFormat('en', { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' })
const DAY = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short' })
const YEAR = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'short', year: 'numeric' })
const FULL = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'medium', hourCycle: 'h23' })

const WEEKDAY = new Intl.DateTimeFormat('en', { weekday: 'long', day: 'numeric', month: 'long' })
const LONG_AGO = new Intl.DateTimeFormat('en', { day: 'numeric', month: 'long', year: 'numeric' })

/** A moment in the reader's zone. Hovering shows the exact time in UTC. `full` shows date and seconds, `clock` the time of day. */
export function Time(properties: { seconds: number; full?: boolean; clock?: boolean }): JSX.Element {
  const { seconds, full = false, clock = false } = properties
  const moment = new Date(seconds * 1000)
  if (Number.isNaN(moment.getTime())) return <span />
  const utc = moment.toISOString()
  return (
    <time dateTime={utc} title={`${utc.slice(0, 19).replace('T', ' ')} UTC`}>
      {full ? FULL.format(moment) : clock ? TIME.format(moment) : brief(moment)}
    </time>
  )
}

function brief(moment: Date): string {
  const now = new Date()
  if (moment.toDateString() === now.toDateString()) return TIME.format(moment)
  return (moment.getFullYear() === now.getFullYear() ? DAY : YEAR).format(moment)
}

/** The time of day. */
export function clockOf(ms: number): string {
  return TIME.format(new Date(ms))
}

/** The day, for the lines between the turns of a conversation. */
export function dayOf(seconds: number): string {
  const moment = new Date(seconds * 1000)
  const now = new Date()
  if (moment.toDateString() === now.toDateString()) return strings.mail.today
  return (moment.getFullYear() === now.getFullYear() ? WEEKDAY : LONG_AGO).format(moment)
}
