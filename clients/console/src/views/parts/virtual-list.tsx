import type { JSX } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { scrollTopFor, windowOf } from './window.ts'

interface Properties<Item> {
  readonly label: string
  readonly items: readonly Item[]
  readonly keyOf: (item: Item) => string
  /** In CSS pixels. All rows have this height. */
  readonly rowHeight: number
  readonly row: (item: Item) => JSX.Element
  readonly classOf: (item: Item) => string
  /** Key of the item that is shown beside the list. */
  readonly chosen: string | undefined
  /** Key of the row that the keyboard is at. */
  readonly activeKey: string | undefined
  readonly onActive: (key: string) => void
  readonly onChoose: (item: Item) => void
}

/**
 * A list that stays smooth with any number of rows, because only the visible ones are in the page. The Tab key stops at it once.
 * Arrows, Page Up and Down, Home and End move the active row; Enter opens it.
 */
export function VirtualList<Item>(properties: Properties<Item>): JSX.Element {
  const { label, items, keyOf, rowHeight, row, classOf, chosen, activeKey, onActive, onChoose } = properties
  const [view, setView] = useState({ scrollTop: 0, height: 800 })
  const box = useRef<HTMLDivElement>(null)
  const id = useId()
  const { first, end } = windowOf({ count: items.length, rowHeight, ...view })
  const active = items.findIndex((item) => keyOf(item) === activeKey)

  useLayoutEffect(() => {
    const element = box.current
    if (element === null) return
    const measure = (): void => setView({ scrollTop: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    measure()
    return () => observer.disconnect()
  }, [])

  // The active row is in view, whoever moved it.
  useEffect(() => {
    const element = box.current
    if (element === null || active === -1) return
    const { scrollTop, clientHeight: height } = element
    element.scrollTop = scrollTopFor(active, { rowHeight, scrollTop, height })
  }, [activeKey])

  function moveTo(index: number): void {
    const item = items[Math.max(0, Math.min(items.length - 1, index))]
    if (item !== undefined) onActive(keyOf(item))
  }

  function onKeyDown(event: KeyboardEvent): void {
    const page = Math.max(1, Math.floor(view.height / rowHeight) - 1)
    const targets: Record<string, number> = {
      ArrowDown: active + 1,
      ArrowUp: active === -1 ? 0 : active - 1,
      PageDown: active + page,
      PageUp: active - page,
      Home: 0,
      End: items.length - 1,
    }
    const target = targets[event.key]
    const item = items[active]
    if (target !== undefined) moveTo(target)
    else if ((event.key === 'Enter' || event.key === ' ') && item !== undefined) onChoose(item)
    else return
    event.preventDefault()
  }

  // The active row stays in the page even if it was scrolled away, because it is what screen readers point at.
  const shown = items.slice(first, end).map((item, offset) => ({ item, index: first + offset }))
  const activeItem = items[active]
  if (activeItem !== undefined && (active < first || active >= end)) shown.push({ item: activeItem, index: active })
  return (
    <div
      ref={box}
      class="list"
      role="listbox"
      aria-label={label}
      tabIndex={0}
      aria-activedescendant={activeItem === undefined ? undefined : `${id}-${keyOf(activeItem)}`}
      onScroll={(event) => {
        const { scrollTop, clientHeight } = event.currentTarget
        setView({ scrollTop, height: clientHeight })
      }}
      onFocus={() => {
        if (active === -1) moveTo(first)
      }}
      onKeyDown={onKeyDown}
    >
      <div class="list-room" role="presentation" style={{ height: `${items.length * rowHeight}px` }}>
        {shown.map(({ item, index }) => {
          const key = keyOf(item)
          return (
            // biome-ignore lint/a11y/useFocusableInteractive: the list has the focus and points at its active row
            // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys
            <div
              key={key}
              id={`${id}-${key}`}
              role="option"
              aria-selected={key === chosen}
              aria-setsize={items.length}
              aria-posinset={index + 1}
              class={`row ${classOf(item)} ${key === activeKey ? 'active' : ''}`}
              style={{ transform: `translateY(${index * rowHeight}px)` }}
              onClick={() => {
                onActive(key)
                onChoose(item)
              }}
            >
              {row(item)}
            </div>
          )
        })}
      </div>
    </div>
  )
}
