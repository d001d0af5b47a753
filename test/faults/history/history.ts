/**
 * What was asked and what was answered, one JSON line for each, in a file: a run of an hour takes no more memory than
 * one of a minute, and what a run was judged by can be read afterwards.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Body, Call } from './calls.ts'

/** Written before the request leaves. */
interface Invocation {
  readonly type: 'call'
  /** Numbers attempts. */
  readonly n: number
  /** Attempts of one operation share it: a client that repeats. */
  readonly op: number
  /** An agent's id. */
  readonly actor: string
  /** Of the gateway. */
  readonly via: number
  /** Epoch milliseconds, by this process's clock, as everywhere here. */
  readonly atMs: number
  readonly call: Call
}

/** Without one, or with a null status, or with 503, nobody knows what became of the attempt (spec 3.17). */
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

/** Something that a stream has done. */
export interface StreamEntry {
  readonly type: 'stream'
  /** An agent's id and which of its clients. */
  readonly actor: string
  readonly client: number
  /** Of the client, from 1. */
  readonly connection: number
  readonly atMs: number
  readonly event: 'open' | 'message' | 'cursor' | 'over'
  readonly cursor: number
  /** Of a message. */
  readonly id?: string
  readonly digest?: string
  readonly kind?: string
}

/** A request that the receiver of webhooks has read. */
interface Delivery {
  readonly type: 'delivery'
  readonly path: string
  readonly id: string
  readonly delivery: string
  readonly digest: string
  /** Signed with the secret that this path was configured with. */
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
  /** False: nobody knows. */
  readonly certain: boolean
}

interface FaultEntry {
  readonly type: 'fault'
  readonly name: string
  readonly detail: string
  readonly phase: 'begin' | 'end' | 'refused'
  readonly atMs: number
}

/** What somebody noticed at once. */
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
  /** For attempts and operations. */
  next(): number
  /** Until everything is in the file. */
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
