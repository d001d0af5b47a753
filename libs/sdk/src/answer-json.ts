import { parseAcceptedJson } from '@svc/envelope/i-json.ts'

/** Brackets of an envelope (spec 2.5), and more than an answer ever has around it. */
const LEVELS_MAX = 64 + 16

/**
 * The value of an answer, undefined where it is not JSON. What others wrote is in it, so that it is not left to JSON.parse:
 * a message could be made whose names spoil how V8 reads the names of the next one, and with it the page.
 */
export function parseAnswer(text: string): unknown {
  try {
    return parseAcceptedJson(text, LEVELS_MAX)
  } catch {
    return undefined
  }
}
