import type { ServerResponse } from 'node:http'

/** A longer text is sent in slices of this size. Each slice that leaves shows that a slow client makes progress (outflow.ts). */
const SLICE_BYTES: number = 64 * 1024

/** Whether a text is longer than a slice. A character takes at most three bytes, so most texts need no count of their bytes. */
export function isLong(text: string): boolean {
  return text.length > SLICE_BYTES / 3 && Buffer.byteLength(text) > SLICE_BYTES
}

/**
 * Sends the body of an answer slice by slice, each one after the kernel has taken the previous one. So connections share one copy
 * of the body, and an answer does not end before its last byte has left.
 */
export function sendSlices(response: ServerResponse, body: Buffer): void {
  let at = 0
  sendNext()

  function sendNext(error?: Error | null): void {
    if (error || response.destroyed) return
    if (at >= body.length) {
      response.end()
      return
    }
    const slice = body.subarray(at, at + SLICE_BYTES)
    at += slice.length
    response.write(slice, sendNext)
  }
}
