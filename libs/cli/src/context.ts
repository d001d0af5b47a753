import { AgentClient } from '@svc/sdk/client.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Command } from 'commander'
import { type Io, UsageError } from './io.ts'
import { readKeyFile } from './key-file.ts'
import { createOutput, type Output } from './output.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8080'
/** Somebody waits at the keyboard: some two seconds of repeating, and then the truth. */
const ATTEMPTS = 4

/** The options that every command takes. */
interface GlobalOptions {
  readonly key?: string
  readonly url?: string
  readonly authority?: string
  readonly json?: boolean
}

/** What a command works with, by its options and the environment. */
export interface Context {
  readonly io: Io
  readonly out: Output
  readonly signal: AbortSignal
  /** Path of the key file. @throws UsageError where none was named. */
  keyPath(): string
  /** The key in that file. */
  key(): AgentKey
  /** A client with the key. */
  agent(): AgentClient
  /** A client without one, for public reads. */
  visitor(): AgentClient
  /** A client with the key where one was named, for reads that show more to those who may see more. */
  reader(): AgentClient
}

export function contextOf(io: Io, command: Command): Context {
  const { key: keyOption, url, authority, json = false } = command.optsWithGlobals<GlobalOptions>()
  const out = createOutput(io, json)
  const namedKey = keyOption ?? textOf(io.env.SVC_KEY)

  const context: Context = {
    io,
    out,
    signal: io.signal,
    keyPath() {
      const path = namedKey
      if (path === undefined) throw new UsageError('no key: name its file with --key <file>, or in SVC_KEY')
      return path
    },
    key: () => readKeyFile(context.keyPath(), out.note),
    agent: () => clientOf(context.key()),
    visitor: () => clientOf(undefined),
    reader: () => (namedKey === undefined ? context.visitor() : context.agent()),
  }
  return context

  function clientOf(key: AgentKey | undefined): AgentClient {
    const options = {
      url: url ?? textOf(io.env.SVC_URL) ?? DEFAULT_URL,
      retry: { attempts: ATTEMPTS },
      ...(authority === undefined ? {} : { authority }),
      ...(key === undefined ? {} : { key }),
    }
    try {
      return new AgentClient(options)
    } catch (cause) {
      throw new UsageError(`${options.url} is not the address of a service: ${(cause as Error).message}`, { cause })
    }
  }
}

/** The agent id that is meant by an agent id or a name; names are looked up. */
export async function agentIdOf(who: string, client: AgentClient, signal: AbortSignal): Promise<string> {
  // a name has 32 characters at most, an id but for one in 10^14 has more
  return isAgentId(who) ? who : (await client.lookup(who, { signal })).agent_id
}

/** A variable that is set but empty counts as not set. */
function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
