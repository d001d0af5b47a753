/**
 * Places at which a test can kill or stop the process. `SVC_FAILPOINTS` is a comma-separated list of `<name>=kill[@<n>]`
 * (SIGKILL) and `<name>=stop[@<n>]` (SIGSTOP). The signal is sent when the process reaches the place, or reaches it for the
 * n-th time, counted from 1. Only tests set the variable; without it, a failpoint is a no-op.
 */

const SIGNALS = { kill: 'SIGKILL', stop: 'SIGSTOP' } as const

interface Armed {
  signal: (typeof SIGNALS)[keyof typeof SIGNALS]
  /** How many more times the place must be reached before the signal is sent. */
  left: number
}

const armed = parseFailpoints(process.env.SVC_FAILPOINTS ?? '')

/** Kills or stops the process here if a test requested it. In that case nothing after this call runs. */
export function failpoint(name: string): void {
  if (armed.size === 0) return
  const point = armed.get(name)
  if (point === undefined) return
  point.left -= 1
  if (point.left === 0) process.kill(process.pid, point.signal)
}

/** @throws Error if the text does not have the form above. */
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
