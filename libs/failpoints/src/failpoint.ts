/**
 * Places where a test can make the process die. `SVC_FAILPOINTS=<name>=kill[@<n>]`, separated by commas: SIGKILL when
 * the place is reached (for the n-th time, from 1). Without the variable, which only tests set, this does nothing.
 */

const armed = parseFailpoints(process.env.SVC_FAILPOINTS ?? '')

/** Dies here when a test asked for it; nothing after this line runs then. */
export function failpoint(name: string): void {
  if (armed.size === 0) return
  const left = armed.get(name)
  if (left === undefined) return
  if (left > 1) {
    armed.set(name, left - 1)
    return
  }
  process.kill(process.pid, 'SIGKILL')
}

/** Name → at which passage to die. @throws Error when the text is not of the form above. */
export function parseFailpoints(text: string): Map<string, number> {
  const points = new Map<string, number>()
  for (const entry of text.split(',').filter((part) => part !== '')) {
    const match = /^([a-z0-9._-]+)=kill(?:@([1-9]\d*))?$/.exec(entry)
    if (match?.[1] === undefined) throw new Error(`SVC_FAILPOINTS: ${entry} is not <name>=kill[@<n>]`)
    points.set(match[1], Number(match[2] ?? 1))
  }
  return points
}
