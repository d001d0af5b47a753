import type { ServerResponse } from 'node:http'

/** A longer text is sent in slices of this size. It is also what shows that a slow client makes progress (outflow.ts). */
export const SLICE_BYTES: number = 64 * 1024

/** Whether a text is longer than a slice. A character takes three bytes at most, so most texts are told without counting. */
export function isLong(text: string): boolean {
  return text.length > SLICE_BYTES / 3 && Buffer.byteLength(text) > SLICE_BYTES
}

/**
 * Sends the body of an answer slice by slice, each one when the kernel has taken the one before. So a connection holds no copy of
 * the body, which may be shared by many of them, and the answer does not end before its last byte has left.
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
