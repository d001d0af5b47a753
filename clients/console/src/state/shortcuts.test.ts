import { expect, test } from 'vitest'
import { findShortcut, type Shortcut } from './shortcuts.ts'

const of = (keys: string, label = keys): Shortcut => ({ keys, label, run: () => undefined })
const ALL = [of('j', 'list'), of('g i'), of('g b'), of('j', 'feed')]

test.each([
  { keys: ['j'], found: 'feed', why: 'the newest of the same keys' },
  { keys: ['g'], found: 'begun', why: 'the first of two' },
  { keys: ['g', 'b'], found: 'g b', why: 'both' },
  { keys: ['g', 'x'], found: undefined, why: 'no such second key' },
  { keys: ['i'], found: undefined, why: 'a second key alone' },
])('$keys: $why', ({ keys, found }) => {
  const shortcut = findShortcut(ALL, keys)
  expect(typeof shortcut === 'object' ? shortcut.label : shortcut).toBe(found)
})
