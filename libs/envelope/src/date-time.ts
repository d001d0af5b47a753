const DATE_TIME =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(?:[Zz]|([+-])([0-9]{2}):([0-9]{2}))$/
const MINUTE_MS = 60_000

/**
 * @returns epoch milliseconds of an RFC 3339 date-time (spec 6.7); undefined if it is malformed or the moment does not
 * exist.
 *
 * `T` and `Z` may be in either case, but a space may not replace `T`. Offsets go up to 23:59 and include `-00:00`. A
 * fraction has at most 9 digits (spec 6.7) and is truncated to milliseconds. The day must exist in its month. Second 60 is
 * accepted only in the last minute of a UTC month, where leap seconds can occur. As in POSIX time, it means the following
 * second. There is no table of actual leap seconds.
 */
export function parseDateTime(text: string): number | undefined {
  const match = DATE_TIME.exec(text)
  if (match === null) return undefined
  const [year, month, day] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [hour, minute, second] = [Number(match[4]), Number(match[5]), Number(match[6])]
  const milliseconds = Number((match[7] ?? '').slice(0, 3).padEnd(3, '0'))
  const [offsetHour, offsetMinute] = [Number(match[9] ?? 0), Number(match[10] ?? 0)]
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return undefined

  // setUTCFullYear, because Date.UTC maps years below 100 to 19xx
  const midnight = new Date(0)
  midnight.setUTCFullYear(year, month - 1, day)
  if (midnight.getUTCMonth() !== month - 1 || midnight.getUTCDate() !== day) return undefined // no such day

  const offsetMinutes = (offsetHour * 60 + offsetMinute) * (match[8] === '-' ? -1 : 1)
  const minuteStart = midnight.getTime() + (hour * 60 + minute - offsetMinutes) * MINUTE_MS
  if (second === 60 && !isMonthStart(minuteStart + MINUTE_MS)) return undefined
  return minuteStart + second * 1000 + milliseconds
}

function isMonthStart(epochMs: number): boolean {
  const date = new Date(epochMs)
  return date.getUTCDate() === 1 && date.getUTCHours() === 0 && date.getUTCMinutes() === 0
}
