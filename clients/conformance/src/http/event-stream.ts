/** One open `GET /v2/stream`. It takes only the frames of spec 9.7, in the order of their cursors. */
import type { IncomingMessage } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from './agent.ts'
import type { Answer, ExchangeOptions } from './exchange.ts'

interface Frame {
  readonly event?: string
  // biome-ignore lint/suspicious/noExplicitAny: cases say what an event must be
  readonly data?: any
  readonly id?: number
  readonly retry?: number
}

interface StreamOptions extends Pick<ExchangeOptions, 'observe'> {
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly gateway?: number | undefined
}

const FRAMES = [
  /^retry: (?<retry>1000)$/,
  /^event: (?<event>message|cursor)\ndata: (?<data>[^\n\r]+)\nid: (?<id>0|[1-9]\d*)$/,
]
/** For what a server does at once, on a busy machine. */
const PATIENCE_MS = 20_000
const PAUSE_MS = 20

/** @returns the answer, and the stream if there is one. */
export async function openStream(
  agent: Agent,
  target: string,
  options: StreamOptions = {},
): Promise<{ answer: Answer; stream: EventStream | undefined }> {
  let stream: EventStream | undefined
  const onStream = (response: IncomingMessage): void => {
    stream = new EventStream(response)
  }
  const answer = await agent.get(target, { ...options, onStream })
  return { answer, stream }
}

export class EventStream implements Disposable {
  readonly frames: Frame[] = []
  /** `ended` by the server, `broken` by the network, or `closed` by `close`. */
  end: 'open' | 'ended' | 'broken' | 'closed' = 'open'
  text = ''
  readonly #response: IncomingMessage
  #rest = ''
  #fault: string | undefined

  constructor(response: IncomingMessage) {
    this.#response = response
    response.setEncoding('utf8')
    response.on('data', (chunk: string) => this.#take(chunk))
    response.on('end', () => {
      if (this.#rest !== '') this.#fault ??= `the stream ended within a frame: ${this.#rest.slice(0, 200)}`
      this.#over('ended')
    })
    response.on('error', () => this.#over('broken'))
    response.on('close', () => this.#over('broken'))
  }

  /** The events that were received so far (spec 9.1). */
  get events(): Frame['data'][] {
    return this.#received().flatMap(({ event, data }) => (event === 'message' ? [data] : []))
  }

  get cursors(): number[] {
    return this.events.map(({ cursor }) => cursor)
  }

  /** The ids of the envelopes. */
  get ids(): string[] {
    return this.events.map(({ message }) => message.envelope.id)
  }

  /** The cursor with which a client would resume. */
  get last(): number {
    return this.#received().findLast(({ id }) => id !== undefined)?.id ?? 0
  }

  /** Waits for as many frames of this kind. @throws Error if the stream ends before, or if they do not come. */
  async until(event: 'message' | 'cursor', count = 1): Promise<void> {
    for (const endMs = Date.now() + PATIENCE_MS; ; await sleep(PAUSE_MS)) {
      const there = this.#received().filter((frame) => frame.event === event).length
      if (there >= count) return
      if (this.end !== 'open' || Date.now() > endMs)
        throw new Error(`the stream sent ${there} of ${count} frames of ${event}, and is ${this.end}`)
    }
  }

  close(): void {
    this.#over('closed')
    this.#response.destroy()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #received(): readonly Frame[] {
    if (this.#fault !== undefined) throw new Error(`${this.#fault} (spec 9.7)`)
    return this.frames
  }

  #over(end: 'ended' | 'broken' | 'closed'): void {
    if (this.end === 'open') this.end = end
  }

  #take(chunk: string): void {
    this.text += chunk
    const blocks = (this.#rest + chunk).split('\n\n')
    this.#rest = blocks.pop() ?? ''
    for (const block of blocks) this.#fault ??= this.#keep(block)
  }

  /** @returns what is wrong with the frame; undefined if nothing is. */
  #keep(block: string): string | undefined {
    const { retry, event, data, id } =
      FRAMES.map((form) => form.exec(block)?.groups).find((groups) => groups !== undefined) ?? {}
    const isFirst = this.frames.length === 0
    if (isFirst !== (retry !== undefined) || (id ?? retry) === undefined)
      return `the stream sent a frame that is not allowed here: ${block.slice(0, 200)}`
    if (retry !== undefined) {
      this.frames.push({ retry: Number(retry) })
      return undefined
    }
    const frame: Frame = { event: event ?? '', data: JSON.parse(data ?? ''), id: Number(id) }
    if (frame.data.cursor !== frame.id) return `the id of a frame is not its cursor: ${block.slice(0, 200)}`
    const before = this.frames.findLast((one) => one.id !== undefined)?.id ?? -1
    const isBehind = event === 'message' ? Number(id) <= before : Number(id) < before
    this.frames.push(frame)
    return isBehind ? `cursor ${id} came after ${before}` : undefined
  }
}
