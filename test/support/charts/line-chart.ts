import { escapeText } from './escape.ts'

/** A chart as SVG text. Every line has its own scale, from zero to its largest value. The line's name includes that value. */
interface Chart {
  readonly title: string
  /** The unit of the horizontal axis. */
  readonly across: string
  readonly lines: readonly Line[]
  /** Uses a logarithmic horizontal axis. */
  readonly logarithmic?: boolean
  /** Marked ranges of the horizontal axis. */
  readonly spans?: readonly Span[]
}

interface Span {
  readonly name: string
  readonly from: number
  readonly to: number
}

interface Line {
  readonly name: string
  readonly points: readonly Point[]
}

/** Points, as x and y. */
type Point = readonly [number, number]

const WIDTH = 720
const HEIGHT = 320
const LEFT = 16
const TOP = 40
const BOTTOM = 56
const SPAN_ROWS = 8
const COLOURS = ['#1f6feb', '#d1570b', '#2da44e']
/** Lines with at most this many points show their values. */
const FEW_POINTS = 12
const LEAST_TICKS = 4
/** Vertical distance of a value from its point, different for each line, so that the values of similar lines do not overlap. */
const VALUE_OFFSETS = [-6, 14, -16]

/** The place of a value on the horizontal axis. */
type PlaceX = (x: number) => number

export function lineChart({ title, across, lines, logarithmic = false, spans = [] }: Chart): string {
  const xs = [...new Set(lines.flatMap(({ points }) => points.map(([x]) => x)))]
  const maxX = Math.max(1, ...xs, ...spans.map(({ to }) => to))
  const share = (x: number): number => (logarithmic ? Math.log(Math.max(1, x)) / Math.log(Math.max(2, maxX)) : x / maxX)
  const placeX: PlaceX = (x) => LEFT + share(x) * (WIDTH - 2 * LEFT)
  const ticks = xs.length <= FEW_POINTS ? xs : roundTicks(maxX)
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="13">`,
    `<title>${escapeText(title)}</title>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    `<text x="${LEFT}" y="22" font-size="15">${escapeText(title)}</text>`,
    `<line x1="${LEFT}" x2="${WIDTH - LEFT}" y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM}" stroke="#888"/>`,
    ...spans.map((span, at) => drawSpan(span, placeX, at)),
    ...lines.map((line, at) => drawLine(line, placeX, at)),
    ...ticks.map((x) => drawTick(x, placeX, x === ticks.at(-1) ? ` ${across}` : '')),
    '</svg>\n',
  ].join('\n')
}

/** A coloured band with its name. The names have several heights, so that those of neighbours do not overlap. */
function drawSpan({ name, from, to }: Span, placeX: PlaceX, at: number): string {
  const [left, width] = [placeX(from), Math.max(1, placeX(to) - placeX(from))]
  const y = TOP + 8 + (at % SPAN_ROWS) * 10
  return [
    `<rect x="${left.toFixed(1)}" y="${TOP}" width="${width.toFixed(1)}" height="${HEIGHT - TOP - BOTTOM}" fill="#d1570b" opacity="0.08"/>`,
    `<text x="${left.toFixed(1)}" y="${y}" font-size="8" fill="#777">${escapeText(name)}</text>`,
  ].join('\n')
}

/** Multiples of a round step, from 0 up to the largest value. */
function roundTicks(maxX: number): number[] {
  const magnitude = 10 ** Math.floor(Math.log10(maxX / LEAST_TICKS))
  const step = [5, 2, 1].map((factor) => factor * magnitude).find((size) => maxX / size >= LEAST_TICKS) ?? magnitude
  return Array.from({ length: Math.floor(maxX / step) + 1 }, (_, at) => at * step)
}

function drawTick(x: number, placeX: PlaceX, unit: string): string {
  const anchor = placeX(x) < LEFT + 20 ? 'start' : placeX(x) > WIDTH - LEFT - 20 ? 'end' : 'middle'
  const text = `${x.toLocaleString('en', { maximumSignificantDigits: 4 })}${unit}`
  return [
    `<line x1="${placeX(x).toFixed(1)}" x2="${placeX(x).toFixed(1)}" y1="${HEIGHT - BOTTOM}" y2="${HEIGHT - BOTTOM + 4}" stroke="#888"/>`,
    `<text x="${placeX(x).toFixed(1)}" y="${HEIGHT - BOTTOM + 18}" font-size="11" text-anchor="${anchor}">${escapeText(text)}</text>`,
  ].join('\n')
}

function drawLine({ name, points }: Line, placeX: PlaceX, at: number): string {
  const maxY = Math.max(Number.MIN_VALUE, ...points.map(([, y]) => y))
  const placeY = (y: number): number => HEIGHT - BOTTOM - (y / maxY) * (HEIGHT - TOP - BOTTOM)
  const colour = COLOURS[at % COLOURS.length]
  const most = maxY.toLocaleString('en', { maximumSignificantDigits: 3 })
  const path = points.map(([x, y]) => `${placeX(x).toFixed(1)},${placeY(y).toFixed(1)}`).join(' ')
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${path}"/>`,
    ...(points.length > FEW_POINTS ? [] : points.map(([x, y]) => drawPoint(y, placeX(x), placeY(y), at))),
    `<text x="${LEFT + at * 240}" y="${HEIGHT - 16}" fill="${colour}">${escapeText(name)}, up to ${most}</text>`,
  ].join('\n')
}

/** A dot with its value. The largest value is not repeated, because it is in the line's name and would be at the upper edge. */
function drawPoint(y: number, left: number, top: number, at: number): string {
  const colour = COLOURS[at % COLOURS.length]
  const anchor = left < LEFT + 20 ? 'start' : left > WIDTH - LEFT - 20 ? 'end' : 'middle'
  const value = top <= TOP ? '' : y.toLocaleString('en', { maximumSignificantDigits: 3 })
  const down = top + (VALUE_OFFSETS[at % VALUE_OFFSETS.length] ?? 0)
  return [
    `<circle cx="${left.toFixed(1)}" cy="${top.toFixed(1)}" r="3" fill="${colour}"/>`,
    `<text x="${left.toFixed(1)}" y="${down.toFixed(1)}" font-size="10" fill="${colour}" text-anchor="${anchor}">${value}</text>`,
  ].join('\n')
}
