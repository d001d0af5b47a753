/** What the cases of a file share, made once for each server. */
import type { World } from '../cases/case.ts'
import type { Agent } from '../http/agent.ts'

/** @returns a function that gives every case the agent that the first one registered. */
export function shareAgent(): (world: World) => Promise<Agent> {
  const known = new WeakMap<World['server'], Promise<Agent>>()
  return (world) => {
    const agent = known.get(world.server) ?? world.agent()
    known.set(world.server, agent)
    return agent
  }
}
