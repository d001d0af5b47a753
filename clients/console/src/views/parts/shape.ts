import { sha256 } from '@noble/hashes/sha2.js'
import { utf8ToBytes } from '@noble/hashes/utils.js'

/** What an avatar is drawn of. Cells are a path in a box of 7 by 7. */
interface Shape {
  readonly ground: string
  readonly dark: string
  readonly light: string
  readonly darkCells: string
  readonly lightCells: string
}

const SIDE = 5
const MIDDLE = (SIDE - 1) / 2
const CELLS = SIDE * (MIDDLE + 1)
/** Few enough that people can tell them apart. */
const HUES = 18
const TINTS = 6
/** Relative luminances (WCAG 2.2). The ground stands out from the page in both themes, and both kinds of cells from the ground. */
const GROUND = 0.22
const DARK = 0.02
const LIGHT = 0.84
/** Shares of the channels in the luminance. */
const WEIGHTS = [0.2126, 0.7152, 0.0722] as const
/** The rest is grey, because full colours are loud beside text. */
const SATURATION = 0.8

/** Every cell is empty, dark or light, and the right half mirrors the left. There are about 10⁹ pictures, and a key always has the same one. */
export function shapeOf(pubkey: string): Shape {
  const bytes = sha256(utf8ToBytes(pubkey))
  const hue = take(bytes, CELLS, HUES) * (360 / HUES)
  const tint = take(bytes, CELLS + 1, TINTS) * (360 / TINTS)
  return {
    ground: colourOf(hue, GROUND),
    dark: colourOf(hue, DARK),
    light: colourOf(tint, LIGHT),
    darkCells: cellsOf(bytes, 1),
    lightCells: cellsOf(bytes, 2),
  }
}

function take(bytes: Uint8Array, index: number, count: number): number {
  return (bytes[index] ?? 0) % count
}

function cellsOf(bytes: Uint8Array, kind: number): string {
  const squares: string[] = []
  for (let row = 0; row < SIDE; row++)
    for (let column = 0; column < SIDE; column++) {
      const cell = row * (MIDDLE + 1) + MIDDLE - Math.abs(column - MIDDLE)
      if (take(bytes, cell, 3) === kind) squares.push(`M${column + 1} ${row + 1}h1v1h-1z`)
    }
  return squares.join('')
}

/** Mixes a hue with black or white until it has the wanted luminance. */
function colourOf(hue: number, luminance: number): string {
  const pure = [0, 4, 2].map((turn) => clamp(Math.abs(((hue / 60 + turn) % 6) - 3) - 1) ** 2.2)
  const own = WEIGHTS.reduce((sum, weight, i) => sum + weight * (pure[i] ?? 0), 0)
  const white = Math.max(0, (luminance - own) / (1 - own))
  const scale = own > luminance ? luminance / own : 1 - white
  const mixed = pure.map((channel) => SATURATION * (channel * scale + white) + (1 - SATURATION) * luminance)
  return `#${mixed.map(encode).join('')}`
}

function clamp(value: number): number {
  return Math.min(1, Math.max(0, value))
}

/** Two hex digits of sRGB for a linear channel. */
function encode(channel: number): string {
  const encoded = channel <= 0.0031308 ? channel * 12.92 : 1.055 * channel ** (1 / 2.4) - 0.055
  return Math.round(encoded * 255)
    .toString(16)
    .padStart(2, '0')
}
