import { Agent, type Place } from '../client/agent.ts'
import { type SharedKind, type SharedSystem, shareSystem } from './shared-system.ts'
import { type SystemOptions, startSystem, type TestSystem } from './system.ts'

/** A running system with agents. Every second agent uses the second gateway. */
interface HarnessOf<System extends SharedSystem> extends AsyncDisposable {
  readonly system: System
  readonly place: Place
  /** Registers agents with unique names, so that tests on one system do not affect each other. */
  agents<Count extends number>(count: Count): Promise<Agents<Count>>
}

/** A harness with its own system. */
export type Harness = HarnessOf<TestSystem>
/** A harness with a system that other files use at the same time. */
export type SharedHarness = HarnessOf<SharedSystem>

/** Typed by the number of agents, so that no element of `const [alice, bob] = await h.agents(2)` may be undefined. */
type Agents<Count extends number, Some extends Agent[] = []> = number extends Count
  ? Agent[]
  : Some['length'] extends Count
    ? Some
    : Agents<Count, [...Some, Agent]>

/** With more concurrent proofs of work and registrations, a busy machine answers too late. */
const AT_ONCE = 10

/** For tests that kill or stop processes, read everything that the system stores, or need special settings. */
export async function startHarness(options: SystemOptions = {}): Promise<Harness> {
  return harnessOf(await startSystem(options))
}

/** For all other tests. */
export async function shareHarness(kind: SharedKind): Promise<SharedHarness> {
  return harnessOf(await shareSystem(kind))
}

function harnessOf<System extends SharedSystem>(system: System): HarnessOf<System> {
  const places = system.urls.map((url): Place => ({ url, authority: system.authority }))
  const place = places[0]
  if (place === undefined) throw new Error('a system has at least one gateway')
  let made = 0
  return {
    system,
    place,
    async agents<Count extends number>(count: Count) {
      const agents: Agent[] = []
      while (agents.length < count) {
        const next = Array.from({ length: Math.min(count - agents.length, AT_ONCE) }, () => {
          made += 1
          return new Agent(places[made % places.length] ?? place)
        })
        agents.push(...(await Promise.all(next.map((agent) => agent.register()))))
      }
      return agents as Agents<Count>
    },
    [Symbol.asyncDispose]: () => system[Symbol.asyncDispose](),
  }
}
