import { AgentClient } from '@svc/sdk/client.ts'
import type { ClientOptions } from '@svc/sdk/http/options.ts'
import { type AgentKey, generateKey } from '@svc/sdk/keys.ts'
import type { FakeService } from './fake-service.ts'

interface TestAgent extends AgentClient {
  readonly key: AgentKey
}

/** The waits that the clients of a test skipped, in ms. */
export const waits: number[] = []

/** A client that records its waits in `waits` and skips them. */
export function clientOf(
  service: { url: string },
  options: Partial<ClientOptions> = {},
  nowMs = Date.now,
): AgentClient {
  return new AgentClient(
    { url: service.url, ...options },
    {
      nowMs,
      sleep: async (ms, signal) => {
        waits.push(ms)
        signal?.throwIfAborted()
      },
    },
  )
}

/** Registers agents under these names. */
export async function registered<N extends string[]>(
  service: FakeService,
  ...names: N
): Promise<{ [K in keyof N]: TestAgent }> {
  const agents = names.map(async (name) => {
    const agent = clientOf(service, { key: generateKey() }) as TestAgent
    await agent.register(name)
    return agent
  })
  return (await Promise.all(agents)) as { [K in keyof N]: TestAgent }
}

/** All items of an async iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}
