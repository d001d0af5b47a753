import type { ChildProcess } from 'node:child_process'
import type { BenchSystem } from '../bench-system.ts'
import { createBenchAgent, dataOf, registerAgent } from '../load/bench-agents.ts'
import { type Round, runRound } from '../rounds.ts'

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
  const { authority, port, cpu } = system
  const agents = Array.from({ length: count }, (_, index) => createBenchAgent(`bench-${index}`))
  for (const agent of agents) await registerAgent(agent, `http://${authority}`, authority)
  const common = { port, connections, cycle: false, authority, agents: agents.map(dataOf) }
  return (seconds, count) =>
    runRound(generator, cpu, { ...common, work: { kind: 'messages', ttlSeconds }, count, limitMs: seconds * 1_000 })
}
