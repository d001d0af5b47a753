import type { ChildProcess } from 'node:child_process'
import type { BenchSystem } from '../bench-system.ts'
import { registerMany } from '../load/bench-agents.ts'
import { loaderOf, type Round } from '../rounds.ts'

interface Senders {
  readonly connections: number
  readonly agents: number
  /** Seconds after which a message expires; 0 for the retention of the service. */
  readonly ttlSeconds: number
}

/** Sends direct messages at full speed for a time. @param count the requests that are signed before the round begins. */
export type Send = (seconds: number, count: number) => Promise<Round>

/** Registers agents with a system. */
export async function createSend(
  { system, generator }: { system: BenchSystem; generator: ChildProcess },
  { connections, agents: count, ttlSeconds }: Senders,
): Promise<Send> {
  const load = loaderOf(generator, system, await registerMany(count, system.authority))
  return (seconds, requests) => load({ kind: 'messages', ttlSeconds }, { connections, count: requests, seconds })
}
