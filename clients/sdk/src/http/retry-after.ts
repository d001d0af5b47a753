/** `<day-name>, 01 Jan 2026 12:00:00 GMT` and the two older forms of RFC 9110, 5.6.7. Without it, `Date.parse` takes `-5` for a date. */
const DATE = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? /
/** More seconds mean the same: too long. */
const LONGEST = 1_000_000_000

/**
 * How long an answer asks its client to wait, in whole seconds (RFC 9110, 10.2.3): a number of seconds, or a date. A proxy
 * in front of the service may send either form. Undefined if the header is absent or malformed. 0 for a date in the past.
 * @param nowMs this machine's clock, which may be wrong. So a date is compared with the answer's own `Date` if it has one.
 */
export function retryAfterOf(headers: Headers, nowMs: number): number | undefined {
  const value = headers.get('retry-after')?.trim() ?? ''
  // Two proxies in a row may each add a line, and `fetch` joins them.
  const seconds = value.split(',').map((one) => one.trim())
  if (seconds.every((one) => /^\d+(\.\d+)?$/.test(one))) return within(Math.max(...seconds.map(Number)))
  const untilMs = parseDate(value)
  if (Number.isNaN(untilMs)) return undefined
  const answeredMs = parseDate(headers.get('date') ?? '')
  return within((untilMs - (Number.isNaN(answeredMs) ? nowMs : answeredMs)) / 1_000)
}

function within(seconds: number): number {
  return Math.min(Math.max(0, Math.ceil(seconds)), LONGEST)
}

/** Only the oldest form has no `GMT`, but means it. */
function parseDate(text: string): number {
  return DATE.test(text) ? Date.parse(text.endsWith('GMT') ? text : `${text} GMT`) : Number.NaN
}
