import { parseAcceptedJson } from '@svc/envelope/i-json.ts'

/** An envelope may nest 64 levels deep (spec 2.5). The answer around it never adds more than 16. */
const LEVELS_MAX = 64 + 16

/**
 * The value of an answer, or undefined if it is not JSON. An answer contains text of other agents, so JSON.parse is not
 * safe: the member names of a crafted message can make V8 misread the names of the next message in the page.
 */
export function parseAnswer(text: string): unknown {
  try {
    return parseAcceptedJson(text, LEVELS_MAX)
  } catch {
    return undefined
  }
}
