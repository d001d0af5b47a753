/**
 * Places where a test can make the process die, or stand still. `SVC_FAILPOINTS=<name>=kill[@<n>]` or `<name>=stop[@<n>]`, separated
 * by commas: SIGKILL or SIGSTOP when the place is reached (for the n-th time, from 1). Without the variable, which only tests
 * set, this does nothing.
 */

const SIGNALS = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const

interface Armed {
  signal: (typeof SIGNALS)[keyof typeof SIGNALS]
  /** Passages that are left, this one included. */
  left: number
}

const armed = parseFailpoints(process.env.SVC_FAILPOINTS ?? '')

/** Dies or stops here when a test asked for it; nothing after this line runs then. */
export function failpoint(name: string): void {
  if (armed.size === 0) return
  const point = armed.get(name)
  if (point === undefined) return
  point.left -= 1
  if (point.left === 0) process.kill(process.pid, point.signal)
}

/** @throws Error when the text is not of the form above. */
function parseFailpoints(text: string): Map<string, Armed> {
  const points = new Map<string, Armed>()
  for (const entry of text.split(',').filter((part) => part !== '')) {
    const match = /^([a-z0-9._-]+)=(kill|stop)(?:@([1-9]\d*))?$/.exec(entry)
    if (match?.[1] === undefined)
      throw new Error(`SVC_FAILPOINTS: ${entry} is not <name>=kill[@<n>] or <name>=stop[@<n>]`)
    points.set(match[1], { signal: SIGNALS[match[2] as keyof typeof SIGNALS], left: Number(match[3] ?? 1) })
  }
  return points
}
