/**
 * Terminal colours. Only bold, faint, red, green and the terminal's own colour are used, because they are readable on light
 * and dark backgrounds. No meaning depends on a colour alone.
 */
import type { Io } from '../io.ts'

const CODES = { strong: '1', faint: '2', bad: '31', good: '32' } as const

export type Style = keyof typeof CODES

/** A line with or without a style. Its text passes `visibleText` like all text. */
export type Line = string | { readonly text: string; readonly style: Style }

/**
 * Whether to colour a stream. A non-empty NO_COLOR disables colours. FORCE_COLOR (not 0) enables them. Otherwise only
 * terminals get them.
 */
export function isColoured(env: NodeJS.ProcessEnv, stream: Io['stdout'] | Io['stderr']): boolean {
  if ((env.NO_COLOR ?? '') !== '') return false
  const forced = env.FORCE_COLOR ?? ''
  if (forced !== '') return forced !== '0'
  return stream.isTTY === true && env.TERM !== 'dumb'
}

/** @param text must not contain control characters of others. */
export function paint(text: string, style: Style): string {
  return `\u001b[${CODES[style]}m${text}\u001b[0m`
}
