/** Writes a stream (spec 9.7): frames as the case lists them, in pieces of the size that it names. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import type { Frame } from './case.ts'
import type { World } from './world.ts'

/** The first byte of a character that has several. */
const FIRST_OF_SEVERAL = 0xc0
const CHARACTER_MS = 200

export async function sendStream(
  response: ServerResponse,
  frames: readonly Frame[],
  world: World,
  chunk = Number.POSITIVE_INFINITY,
): Promise<void> {
  for (const frame of frames) {
    if (frame === 'end') return void response.end()
    if (frame === 'cut') {
      await turn()
      return void response.destroy()
    }
    const bytes = Buffer.from(textOf(frame, world))
    for (let at = 0; at < bytes.length && !response.destroyed; at += chunk) {
      await new Promise((resolve) => response.write(bytes.subarray(at, at + chunk), resolve))
      // Otherwise the pieces could arrive together. Those of a character matter most.
      await ((bytes[at] ?? 0) >= FIRST_OF_SEVERAL && chunk === 1 ? sleep(CHARACTER_MS) : turn())
    }
  }
}

function textOf(frame: Exclude<Frame, 'end' | 'cut'>, world: World): string {
  if (frame === 'retry') return 'retry: 1000\n\n'
  if ('comment' in frame) return `: ${frame.comment}\n\n`
  if ('cursor' in frame) return `event: cursor\ndata: {"cursor":${frame.cursor}}\nid: ${frame.cursor}\n\n`
  const cursor = 'event' in frame ? frame.event : frame.half
  const text = `event: message\ndata: ${world.eventText(cursor)}\nid: ${cursor}\n\n`
  return 'event' in frame ? text : text.slice(0, text.length / 2)
}
