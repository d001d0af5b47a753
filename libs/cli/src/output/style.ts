/**
 * Colours of a terminal. Only bold, faint, red, green and the terminal's own colour are used: they can be read on light and dark
 * backgrounds, and no meaning is carried by a colour alone.
 */
import type { Io } from '../io.ts'

const CODES = { strong: '1', faint: '2', bad: '31', good: '32' } as const

export type Style = keyof typeof CODES

/** A line with a style; a plain text is a line without one. The text passes `visibleText` like any other. */
export type Line = string | { readonly text: string; readonly style: Style }

/** Whether to colour a stream: NO_COLOR (not empty) forbids it, FORCE_COLOR (not empty, not 0) asks for it, else terminals get it. */
export function isColoured(env: NodeJS.ProcessEnv, stream: Io['stdout'] | Io['stderr']): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false
  const forced = env.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0'
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/** @param text must hold no control characters of others. */
export function paint(text: string, style: Style): string {
  return `\u001b[${CODES[style]}m${text}\u001b[0m`
}
