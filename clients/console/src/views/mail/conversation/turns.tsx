import type { JSX } from 'preact'
import { Fragment } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Conversation } from '../../../state/mail/conversations.ts'
import { linksOf } from '../../../state/mail/turn-links.ts'
import { isUnread } from '../../../state/mail/unread.ts'
import { strings } from '../../../strings.ts'
import { dayOf } from '../../parts/time.tsx'
import { useWorkspace } from '../../workspace-context.ts'
import { Turn } from './turn.tsx'
import { WaitingTurn } from './waiting-turn.tsx'

const { mail } = strings
/** How many turns are drawn at first, and how many more when a person scrolls up to the oldest one. */
const STEP = 40
/** A person this near to the end follows the conversation. */
const NEAR_END_PX = 120

interface Properties {
  readonly conversation: Conversation
  /** The message that was asked for. */
  readonly target: string
  readonly onReply: (messageId: string) => void
}

/** The turns of a conversation, oldest first. Older ones are drawn while a person scrolls up. */
export function Turns({ conversation, target, onReply }: Properties): JSX.Element {
  const { unread, people, history } = useWorkspace()
  const { entries, waiting } = conversation
  const { isComplete, isCut } = history.progress.value
  const isWhole = isComplete && !isCut
  const at = entries.findIndex(({ message }) => message.envelope.id === target)
  const [count, setCount] = useState(Math.max(STEP, at === -1 ? 0 : entries.length - at + 5))
  // Where the unread messages began when the conversation was opened.
  const [firstUnread] = useState(() => {
    const place = unread.place.peek()
    return entries.find(({ cursor }) => cursor !== undefined && isUnread(place, cursor))?.message.envelope.id
  })
  const box = useRef<HTMLDivElement>(null)
  const list = useRef<HTMLOListElement>(null)
  const isAtEnd = useRef(true)
  /** Of all turns, when the box last moved to its end by itself. */
  const height = useRef(0)
  const heightBefore = useRef<number | undefined>(undefined)
  const shown = entries.slice(-count)
  const links = linksOf(entries.map(({ message }) => message.envelope))

  useEffect(() => {
    if (document.visibilityState !== 'visible') return
    unread.markRead(entries.flatMap(({ cursor }) => cursor ?? []))
  }, [entries.length])

  useLayoutEffect(() => {
    const element = box.current
    const wanted = document.getElementById(`turn-${firstUnread ?? target}`)
    const isNewest = at === entries.length - 1 && firstUnread === undefined
    if (element === null) return
    if (wanted === null || isNewest) scrollToEnd(element)
    else {
      isAtEnd.current = false
      wanted.scrollIntoView({ block: 'center' })
    }
    // Turns grow when they are opened. The end stays in view.
    const observer = new ResizeObserver(() => {
      if (isAtEnd.current) scrollToEnd(element)
      height.current = element.scrollHeight
    })
    if (list.current !== null) observer.observe(list.current)
    // A banner or a longer composer takes room from the box.
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  // Whoever writes wants to see what was written.
  const newest = waiting.at(-1)?.envelope ?? entries.at(-1)?.message.envelope
  useLayoutEffect(() => {
    if (newest !== undefined && people.isOwn(newest.from)) isAtEnd.current = true
  }, [newest?.id])

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    if (heightBefore.current !== undefined) {
      // Older turns came above. What a person reads stays where it is.
      element.scrollTop += element.scrollHeight - heightBefore.current
      heightBefore.current = undefined
    } else if (isAtEnd.current) scrollToEnd(element)
  }, [count, entries.length, waiting.length])

  return (
    <div
      ref={box}
      class="turns"
      role="log"
      aria-label={mail.thread}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it
      tabIndex={0}
      onScroll={({ currentTarget: element }) => {
        // Turns that grow move the box too. Only a person leaves the end.
        if (element.scrollHeight === height.current)
          isAtEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX
        if (element.scrollTop > NEAR_END_PX || count >= entries.length || heightBefore.current !== undefined) return
        heightBefore.current = element.scrollHeight
        setCount(count + STEP)
      }}
    >
      {count >= entries.length && <p class="hint turns-begin">{isWhole ? mail.begins : mail.beginsMaybe}</p>}
      <ol ref={list}>
        {shown.map((entry, index) => {
          const { id } = entry.message.envelope
          const day = dayOf(entry.message.created_at)
          const before = shown[index - 1]?.message.created_at
          return (
            <Fragment key={id}>
              {(before === undefined || dayOf(before) !== day) && <li class="day">{day}</li>}
              {id === firstUnread && <li class="day new">{mail.newFromHere}</li>}
              <li id={`turn-${id}`}>
                <Turn
                  entry={entry}
                  isOwn={people.isOwn(entry.message.envelope.from)}
                  link={links.get(id)}
                  onReply={() => onReply(id)}
                />
              </li>
            </Fragment>
          )
        })}
        {waiting.map((pending) => (
          <li key={pending.envelope.id} id={`turn-${pending.envelope.id}`}>
            <WaitingTurn pending={pending} conversation={conversation} />
          </li>
        ))}
      </ol>
    </div>
  )
}

/** On a low screen the page scrolls, and not this box (styles/mail.css). */
const LOW_SCREEN = matchMedia('(max-height: 520px)')

function scrollToEnd(box: HTMLElement): void {
  if (LOW_SCREEN.matches) box.parentElement?.scrollIntoView({ block: 'end' })
  else box.scrollTop = box.scrollHeight
}
