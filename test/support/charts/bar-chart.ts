import { escapeText } from './escape.ts'

/** A chart of horizontal bars as SVG text. All bars share one scale, from zero to the largest value. */
interface Chart {
  readonly title: string
  /** What a bar's length shows, with its unit. */
  readonly unit: string
  /** The names of a group's bars, in order. */
  readonly bars: readonly string[]
  readonly groups: readonly { readonly name: string; readonly values: readonly number[] }[]
}

const WIDTH = 720
const LEFT = 230
const RIGHT = 60
const TOP = 40
const BAR = 12
const GAP = 10
const COLOURS = ['#1f6feb', '#d1570b', '#2da44e']

export function barChart({ title, unit, bars, groups }: Chart): string {
  const most = Math.max(Number.MIN_VALUE, ...groups.flatMap(({ values }) => values))
  const groupHeight = bars.length * BAR + GAP
  const bottom = TOP + groups.length * groupHeight
  const drawn = groups.flatMap(({ name, values }, group) => {
    const top = TOP + group * groupHeight
    return [
      `<text x="${LEFT - 8}" y="${top + (bars.length * BAR) / 2 + 4}" text-anchor="end">${escapeText(name)}</text>`,
      ...values.map((value, at) => {
        const width = (value / most) * (WIDTH - LEFT - RIGHT)
        const y = top + at * BAR
        const colour = COLOURS[at % COLOURS.length]
        return `<rect x="${LEFT}" y="${y}" width="${width.toFixed(1)}" height="${BAR - 2}" fill="${colour}"/><text x="${(LEFT + width + 4).toFixed(1)}" y="${y + BAR - 3}" font-size="10">${value.toPrecision(3)}</text>`
      }),
    ]
  })
  const legend = bars.map(
    (name, at) =>
      `<text x="${16 + at * 240}" y="${bottom + 20}" fill="${COLOURS[at % COLOURS.length]}">${escapeText(name)}, ${escapeText(unit)}</text>`,
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 32}" font-family="sans-serif" font-size="13">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${WIDTH}" height="${bottom + 32}" fill="#fff"/>`,
    `<text x="16" y="22" font-size="15">${escapeText(title)}</text>`,
    ...drawn,
    ...legend,
    '</svg>\n',
  ].join('\n')
}
