/** One connection to `GET /v2/stream`. It does not use the SDK, so that neither can hide a fault of the other. */
import { eventually } from '../eventually.ts'
import type { Agent } from './agent.ts'

interface Frame {
  /** `message`, `cursor`, or undefined for a frame without an event, e.g. `retry`. */
  readonly event: string | undefined
  readonly id: string | undefined
  readonly data: string | undefined
  readonly retry: string | undefined
  readonly receivedMs: number
}

export interface TestStream extends Disposable {
  readonly status: number
  readonly headers: Headers
  /** The text of an answer that is not a stream. */
  readonly text: string
  readonly frames: readonly Frame[]
  /** Resolves when the stream ends, with the reason: `ended` by the server, `broken` by the network, or `closed` by this client. */
  readonly over: Promise<'ended' | 'broken' | 'closed'>
  /** Cursors of the messages received so far. */
  cursors(): number[]
  /** Ids of the envelopes received so far. */
  ids(): string[]
  /** The cursor that a client would reconnect with. */
  last(): number
  /** Waits for the first event of this kind, or for the `count`-th. */
  until(event: string, count?: number): Promise<void>
  close(): void
}

interface TestStreamOptions {
  readonly headers?: Record<string, string>
  readonly url?: string
  /** Pause between two chunks, to simulate a slow client. */
  readonly readDelayMs?: number
  /** Called with each frame as it arrives. */
  readonly onFrame?: (frame: Frame) => void
}

export async function openEventStream(
  agent: Agent,
  query = '',
  { headers = {}, url = agent.place.url, readDelayMs = 0, onFrame = () => {} }: TestStreamOptions = {},
): Promise<TestStream> {
  const stop = new AbortController()
  const target = `/v2/stream${query}`
  const signed = agent.sign('GET', target)
  const response = await fetch(url + target, { headers: { ...signed, ...headers }, signal: stop.signal })
  const frames: Frame[] = []
  const keep = (frame: Frame): void => {
    frames.push(frame)
    onFrame(frame)
  }
  const isStream = response.status === 200
  const text = isStream ? '' : await response.text()
  const over =
    isStream && response.body !== null
      ? readFrames(response.body, { readDelayMs, onFrame: keep }, stop.signal)
      : Promise.resolve('ended' as const)
  const messages = (): Frame[] => frames.filter(({ event }) => event === 'message')
  return {
    status: response.status,
    headers: response.headers,
    text,
    frames,
    over,
    cursors: () => messages().map(({ id }) => Number(id)),
    ids: () => messages().map(({ data }) => JSON.parse(data ?? '').message.envelope.id as string),
    last: () => Number(frames.findLast(({ id }) => id !== undefined)?.id ?? 0),
    async until(event, count = 1) {
      const what = `${count} of ${event}; there is ${frames.map((one) => `${one.event} ${one.id}`).join(', ')}`
      await eventually(() => frames.filter((frame) => frame.event === event).length >= count, { what })
    },
    close: () => stop.abort(),
    [Symbol.dispose]: () => stop.abort(),
  }
}

async function readFrames(
  body: ReadableStream<Uint8Array>,
  { readDelayMs, onFrame }: { readDelayMs: number; onFrame: (frame: Frame) => void },
  signal: AbortSignal,
): Promise<'ended' | 'broken' | 'closed'> {
  const decoder = new TextDecoder()
  let text = ''
  try {
    for await (const chunk of body) {
      text += decoder.decode(chunk, { stream: true })
      const blocks = text.split('\n\n')
      text = blocks.pop() ?? ''
      for (const block of blocks) onFrame(parseFrame(block))
      if (readDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, readDelayMs))
    }
  } catch (error) {
    if (error instanceof FrameError) throw error
    return signal.aborted ? 'closed' : 'broken'
  }
  if (text !== '') throw new FrameError(`a stream ended within a frame: ${text}`)
  return 'ended'
}

class FrameError extends Error {}

/** @throws FrameError for a line that spec 9.7 does not allow. */
function parseFrame(block: string): Frame {
  const fields = new Map<string, string>()
  for (const line of block.split('\n')) {
    const [, name = '', value = ''] = /^(event|id|data|retry): ([^\n\r]+)$/.exec(line) ?? []
    if (name === '' || fields.has(name)) throw new FrameError(`not a line of a stream: ${line}`)
    fields.set(name, value)
  }
  const [event, id, data, retry] = ['event', 'id', 'data', 'retry'].map((name) => fields.get(name))
  return { event, id, data, retry, receivedMs: Date.now() }
}
