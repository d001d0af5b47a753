import { randomBytes } from 'node:crypto'
import { AgentClient } from '@svc/sdk/client.ts'
import type { ClientOptions } from '@svc/sdk/http/options.ts'
import { type AgentKey, generateKey } from '@svc/sdk/keys.ts'
import { expireStored } from '@svc/test/support/engines/expire-messages.ts'
import { type FaultProxy, startFaultProxy } from '@svc/test/support/stand-ins/fault-proxy.ts'
import { type SharedKind, shareSystem } from '@svc/test/support/system/shared-system.ts'

/** The shared system behind a proxy of the test. */
export interface Service extends FaultProxy {
  readonly authority: string
  /** Lets the lifetime of these messages pass. */
  expire(...ids: string[]): Promise<void>
}

interface TestAgent extends AgentClient {
  readonly key: AgentKey
  readonly name: string
  readonly fullAddress: string
}

export async function startService(kind: SharedKind = 'roomy'): Promise<Service> {
  const system = await shareSystem(kind)
  const proxy = await startFaultProxy(system.urls[0] ?? '')
  return {
    ...proxy,
    authority: system.authority,
    expire: (...ids) => expireStored(system.database.adminUrl, ids),
    async [Symbol.asyncDispose]() {
      await proxy[Symbol.asyncDispose]()
      await system[Symbol.asyncDispose]()
    },
  }
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

/** Registers agents whose names begin with these names. */
export async function registered<N extends string[]>(
  service: Service,
  ...names: N
): Promise<{ [K in keyof N]: TestAgent }> {
  const agents = names.map(async (prefix) => {
    const name = uniqueName(prefix)
    const agent = clientOf(service, { key: generateKey() })
    await agent.register(name)
    return Object.assign(agent, { name, fullAddress: `${name}@${service.authority}` }) as TestAgent
  })
  return (await Promise.all(agents)) as { [K in keyof N]: TestAgent }
}

/** Tests share a system, where a name is given only once. */
export function uniqueName(prefix: string): string {
  return `${prefix}-${randomBytes(4).toString('hex')}`
}

/** All items of an async iterable. */
export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = []
  for await (const item of items) collected.push(item)
  return collected
}
