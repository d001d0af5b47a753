/**
 * Writes requests and answers to a file, one JSON line for each. A run of an hour then needs no more memory than a run of a
 * minute, and the evidence of a violation can be read afterwards.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Body, Call } from './calls.ts'

/** Written before the request leaves. */
interface Invocation {
  readonly type: 'call'
  /** The number of the attempt. */
  readonly n: number
  /** The number of the operation. The attempts of a client that retries share it. */
  readonly op: number
  /** An agent's id. */
  readonly actor: string
  /** The index of the gateway. */
  readonly via: number
  /** Unix milliseconds by the clock of this process, like every time in the history. */
  readonly atMs: number
  readonly call: Call
}

/** The outcome of an attempt is unknown if the answer is missing, has a null status or is 503 (spec 3.17). */
interface Answer {
  readonly type: 'answer'
  readonly n: number
  readonly atMs: number
  readonly status: number | null
  readonly body: Body
}

/** One of several requests with the same signature (spec 3.7). */
interface Replay {
  readonly type: 'replay'
  readonly nonce: string
  readonly actor: string
  readonly atMs: number
  readonly endMs: number
  readonly status: number | null
  readonly code: string | undefined
}

/** Something that happened on a stream. */
export interface StreamEntry {
  readonly type: 'stream'
  /** An agent's id, and the number of its client. */
  readonly actor: string
  readonly client: number
  /** The number of the client's connection, from 1. */
  readonly connection: number
  readonly atMs: number
  readonly event: 'open' | 'message' | 'cursor' | 'over'
  readonly cursor: number
  /** The id of a message. */
  readonly id?: string
  readonly digest?: string
  readonly kind?: string
}

/** A request that the webhook receiver has read. */
interface Delivery {
  readonly type: 'delivery'
  readonly path: string
  readonly id: string
  readonly delivery: string
  readonly digest: string
  /** Whether it was signed with the secret that was configured for this path. */
  readonly signed: boolean
  readonly atMs: number
  readonly answered: number
}

export interface Grant {
  readonly type: 'grant'
  readonly agent: string
  readonly units: number
  readonly reference: string
  readonly atMs: number
  readonly endMs: number
  /** False if the outcome is unknown. */
  readonly certain: boolean
}

interface FaultEntry {
  readonly type: 'fault'
  readonly name: string
  readonly detail: string
  readonly phase: 'begin' | 'end' | 'refused'
  readonly atMs: number
}

/** A violation that was noticed during the run. */
interface Problem {
  readonly type: 'problem'
  readonly rule: string
  readonly text: string
  readonly atMs: number
}

export type Entry = Invocation | Answer | Replay | StreamEntry | Delivery | Grant | FaultEntry | Problem

export interface History extends AsyncDisposable {
  readonly path: string
  add(entry: Entry): void
  /** The next number for an attempt or an operation. */
  next(): number
  /** Waits until everything is in the file. */
  flush(): Promise<void>
}

export function openHistory(path: string): History {
  const file = createWriteStream(path, { flags: 'a' })
  let last = 0
  return {
    path,
    add: (entry) => void file.write(`${JSON.stringify(entry)}\n`),
    next: () => {
      last += 1
      return last
    },
    flush: () => new Promise((resolve, reject) => file.write('', (error) => (error ? reject(error) : resolve()))),
    [Symbol.asyncDispose]: () => new Promise((resolve) => file.end(resolve)),
  }
}

export async function readHistory(path: string): Promise<Entry[]> {
  const entries: Entry[] = []
  for await (const line of createInterface({ input: createReadStream(path) })) entries.push(JSON.parse(line) as Entry)
  return entries
}
