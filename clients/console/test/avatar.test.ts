import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { shapeOf } from '@svc/console/views/parts/shape.ts'
import { describe, expect, test } from 'vitest'

const keys = Array.from({ length: 5000 }, (_, i) => createHash('sha256').update(`key ${i}`).digest('hex'))
const [first = ''] = keys
const shapes = keys.map(shapeOf)
const styles = readFileSync(new URL('../src/styles/base.css', import.meta.url), 'utf8')

test('a key has one picture, whenever it is drawn', () => {
  expect(shapeOf(first)).toEqual({
    ground: '#668c3b',
    dark: '#1d2b0d',
    light: '#f3f372',
    darkCells:
      'M2 1h1v1h-1zM3 1h1v1h-1zM4 1h1v1h-1zM1 2h1v1h-1zM5 2h1v1h-1zM2 3h1v1h-1zM4 3h1v1h-1zM1 4h1v1h-1zM5 4h1v1h-1zM2 5h1v1h-1zM4 5h1v1h-1z',
    lightCells: 'M3 2h1v1h-1zM3 4h1v1h-1zM1 5h1v1h-1zM3 5h1v1h-1zM5 5h1v1h-1z',
  })
})

test('no two of 5000 keys look the same, nor two keys that differ in one digit', () => {
  expect(new Set(shapes.map((shape) => JSON.stringify(shape))).size).toBe(keys.length)
  expect(shapeOf(`${first.slice(0, -1)}0`)).not.toEqual(shapeOf(`${first.slice(0, -1)}1`))
})

test('a picture is symmetric, and its cells stay apart and inside', () => {
  for (const { darkCells, lightCells } of shapes) {
    const [dark, light] = [positionsIn(darkCells), positionsIn(lightCells)]
    expect(new Set([...dark, ...light]).size).toBe(dark.length + light.length)
    for (const cells of [dark, light]) expect(cells.map(mirror).sort()).toEqual([...cells].sort())
    for (const position of [...dark, ...light]) expect(position).toMatch(/^[1-5] [1-5]$/)
  }
})

describe('contrast is at least 3 to 1', () => {
  test('of the cells with the ground', () => {
    for (const { ground, dark, light } of shapes) {
      expect(contrast(ground, dark)).toBeGreaterThan(3)
      expect(contrast(ground, light)).toBeGreaterThan(3)
    }
  })

  test.each(['ground', 'surface', 'raised', 'sunken', 'accent-soft'])(
    'of the ground with --%s in both themes',
    (name) => {
      const themes = new RegExp(`--${name}: light-dark\\((#\\w{6}), (#\\w{6})\\)`).exec(styles)?.slice(1) ?? []
      expect(themes).toHaveLength(2)
      for (const behind of themes)
        for (const { ground } of shapes) expect(contrast(ground, behind), behind).toBeGreaterThan(3)
    },
  )
})

function positionsIn(cells: string): string[] {
  return [...cells.matchAll(/M(\d+ \d+)h1v1h-1z/g)].map(([, position = '']) => position)
}

function mirror(position: string): string {
  const [column, row] = position.split(' ')
  return `${6 - Number(column)} ${row}`
}

/** As WCAG 2.2 defines it. */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (high + 0.05) / (low + 0.05)
}

function luminance(colour: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const channel = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}
