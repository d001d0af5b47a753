import { escapeText } from './escape.ts'

/** A chart as SVG text. Every line has its own scale, from zero to its largest value, and its name says that value. */
interface Chart {
  readonly title: string
  /** What the horizontal axis counts. */
  readonly across: string
  readonly lines: readonly Line[]
  /** Parts of the horizontal axis that are marked. */
  readonly spans?: readonly Span[]
}

interface Span {
  readonly name: string
  readonly from: number
  readonly to: number
}

interface Line {
  readonly name: string
  /** Pairs of x and y. */
  readonly points: readonly (readonly [number, number])[]
}

const WIDTH = 720
const HEIGHT = 320
const LEFT = 16
const TOP = 40
const BOTTOM = 56
const SPAN_ROWS = 8
const COLOURS = ['#1f6feb', '#d1570b', '#2da44e']

export function lineChart({ title, across, lines, spans = [] }: Chart): string {
  const maxX = Math.max(1, ...lines.flatMap(({ points }) => points.map(([x]) => x)), ...spans.map(({ to }) => to))
  const drawn = lines.map((line, at) => drawLine(line, maxX, at))
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="15">${escapeText(title)}</text>`,
    `<line x1="${LEFT}" x2="${WIDTH - LEFT}" y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM}" stroke="#888"/>`,
    ...spans.map((span, at) => drawSpan(span, maxX, at)),
    ...drawn,
    `<text x="${WIDTH - LEFT}" y="${HEIGHT - BOTTOM + 18}" text-anchor="end">${maxX.toLocaleString('en')} ${escapeText(across)}</text>`,
    '</svg>\n',
  ].join('\n')
}

/** A coloured band, with its name at one of several heights, so that the names of neighbours do not overlap. */
function drawSpan({ name, from, to }: Span, maxX: number, at: number): string {
  const place = (x: number): number => LEFT + (x / maxX) * (WIDTH - 2 * LEFT)
  const [left, width] = [place(from), Math.max(1, place(to) - place(from))]
  const y = TOP + 8 + (at % SPAN_ROWS) * 10
  return [
    `<rect x="${left.toFixed(1)}" y="${TOP}" width="${width.toFixed(1)}" height="${HEIGHT - TOP - BOTTOM}" fill="#d1570b" opacity="0.08"/>`,
    `<text x="${left.toFixed(1)}" y="${y}" font-size="8" fill="#777">${escapeText(name)}</text>`,
  ].join('\n')
}

function drawLine({ name, points }: Line, maxX: number, at: number): string {
  const maxY = Math.max(Number.MIN_VALUE, ...points.map(([, y]) => y))
  const place = ([x, y]: readonly [number, number]): string => {
    const across = LEFT + (x / maxX) * (WIDTH - 2 * LEFT)
    const down = HEIGHT - BOTTOM - (y / maxY) * (HEIGHT - TOP - BOTTOM)
    return `${across.toFixed(1)},${down.toFixed(1)}`
  }
  const colour = COLOURS[at % COLOURS.length]
  const most = maxY.toLocaleString('en', { maximumSignificantDigits: 3 })
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.map(place).join(' ')}"/>`,
    `<text x="${LEFT + at * 240}" y="${HEIGHT - 16}" fill="${colour}">${escapeText(name)}, up to ${most}</text>`,
  ].join('\n')
}
