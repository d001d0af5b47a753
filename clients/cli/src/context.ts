import { resolve } from 'node:path'
import { AgentClient } from '@svc/sdk/client.ts'
import type { ClientOptions } from '@svc/sdk/http/options.ts'
import type { AgentKey } from '@svc/sdk/keys.ts'
import type { Store } from '@svc/sdk/store/store.ts'
import type { Command } from 'commander'
import { createAgentStore, folderOfAgent } from './files/agent-store.ts'
import { readKeyFile } from './files/key-file.ts'
import { configFolder } from './files/places.ts'
import { defaultProfile, findProfile, listProfiles, type Profile } from './files/profiles.ts'
import { type Io, UsageError } from './io.ts'
import { nearest } from './nearest.ts'
import { createOutput, type Output, type OutputFormat } from './output/output.ts'

export const DEFAULT_URL = 'http://127.0.0.1:8080'
/** A person waits at the keyboard, so retries end after about two seconds. */
const ATTEMPTS = 4

/** The options that every command takes. */
export interface GlobalOptions {
  readonly key?: string
  readonly url?: string
  readonly authority?: string
  readonly profile?: string
  readonly json?: boolean
  readonly quiet?: boolean
  readonly output?: Exclude<OutputFormat, 'ids'>
}

/** The agent and the service of a command. Options come first, then the environment, then the profiles. */
export interface Target {
  /** Name of the profile that was used, if any. */
  readonly profile: string | undefined
  /** Path of the key file. */
  readonly key: string | undefined
  readonly url: string
  readonly authority: string | undefined
  /** The name of the agent, if the profile pins it. */
  readonly agent: string | undefined
  /** Whether an option or a variable named the key or a profile. If not, the default profile is used. */
  readonly isNamed: boolean
}

/** The inputs and outputs of a command. */
export interface Context {
  readonly io: Io
  readonly out: Output
  readonly signal: AbortSignal
  readonly target: Target
  /** Path of the key file. @throws UsageError if no key file was named. */
  keyPath(): string
  /** The key in the key file. */
  key(): AgentKey
  /** A client with the key. It keeps what it learns in `store`. */
  agent(): AgentClient
  /** What svc keeps for this agent of this service between commands. @param client finds out the authority. */
  store(client: AgentClient): Store
  /** A client without a key, for public reads. */
  visitor(): AgentClient
  /** A client with the key if one was named. For public reads that show more to some agents. */
  reader(): AgentClient
}

/** For commands that need neither the service nor a key. */
export function outputOf(io: Io, command: Command): Output {
  return createOutput(io, formatOf(command.optsWithGlobals<GlobalOptions>()))
}

export function contextOf(io: Io, command: Command): Context {
  const options = command.optsWithGlobals<GlobalOptions>()
  const out = outputOf(io, command)
  const target = findTarget(io, options)

  const context: Context = {
    io,
    out,
    signal: io.signal,
    target,
    keyPath() {
      if (target.key !== undefined) return target.key
      throw new UsageError(
        'no key: run svc init to make an agent, or name a key with --key <file>, --profile <name> or SVC_KEY',
      )
    },
    key: () => readKeyFile(context.keyPath(), out.warn),
    agent: () => clientOf(context.key()),
    store: (client) => storeOf(context.key(), () => client),
    visitor: () => clientOf(undefined),
    reader: () => (target.key === undefined ? context.visitor() : context.agent()),
  }
  return context

  function clientOf(key: AgentKey | undefined): AgentClient {
    const { url, authority, agent } = target
    const options = {
      url,
      retry: { attempts: ATTEMPTS },
      warn: (text: string) => out.warn(`warning: ${text}`),
      ...(authority === undefined ? {} : { authority }),
      ...(key === undefined ? {} : { key, store: storeOf(key, () => client) }),
      ...(key === undefined || agent === undefined ? {} : { name: agent }),
    }
    const client: AgentClient = newClient(options)
    return client
  }

  function storeOf({ agentId }: AgentKey, client: () => AgentClient): Store {
    return createAgentStore(async () => {
      const authority = await client().authority({ signal: io.signal })
      return folderOfAgent(io.env, 'agents', { agentId, authority })
    })
  }
}

/** @throws UsageError if the URL is not one of a service. */
export function newClient(options: ClientOptions): AgentClient {
  try {
    return new AgentClient(options)
  } catch (cause) {
    throw new UsageError(`${options.url} is not the URL of a service: ${(cause as Error).message}`, { cause })
  }
}

/**
 * The order of precedence is: `--key` and `--url`, `--profile`, the variables SVC_KEY and SVC_URL, SVC_PROFILE, the default
 * profile. The default profile is used only if no key was named, because a user who names a key wants nothing from a profile
 * but what it pins for this key and this URL: the authority, and the name of the agent.
 * @throws UsageError if a named profile does not exist.
 */
function findTarget({ env }: Pick<Io, 'env'>, options: GlobalOptions): Target {
  const folder = configFolder(env)
  const chosen =
    options.profile === undefined ? undefined : { name: options.profile, profile: existing(options.profile) }
  const named = textOf(env.SVC_PROFILE)
  const explicitKey = options.key ?? chosen?.profile.key ?? textOf(env.SVC_KEY)
  const fallback = chosen ?? (named === undefined ? implied() : { name: named, profile: existing(named) })
  const url = options.url ?? chosen?.profile.url ?? textOf(env.SVC_URL) ?? fallback?.profile.url ?? DEFAULT_URL
  const key = explicitKey ?? fallback?.profile.key
  // What a profile pins belongs to its URL only.
  const pinning = (fallback === undefined ? profilesOf(key) : [fallback.profile]).filter((profile) =>
    isUrl(profile.url),
  )
  const pinned = pinning.find(({ authority }) => authority !== undefined)?.authority
  const given = chosen === undefined ? (givenAuthority() ?? pinned) : (pinned ?? givenAuthority())
  return {
    profile: fallback?.name,
    key,
    url,
    authority: options.authority ?? given,
    agent: pinning.find((profile) => key !== undefined && resolve(profile.key) === resolve(key))?.agent,
    isNamed: explicitKey !== undefined || named !== undefined,
  }

  function isUrl(other: string): boolean {
    return withoutSlash(other) === withoutSlash(url)
  }

  /** SVC_AUTHORITY belongs to SVC_URL, if both are set. */
  function givenAuthority(): string | undefined {
    return isUrl(textOf(env.SVC_URL) ?? url) ? textOf(env.SVC_AUTHORITY) : undefined
  }

  /** A profile that cannot be read pins nothing. */
  function profilesOf(path: string | undefined): Profile[] {
    if (path === undefined) return []
    const profiles = listProfiles(folder).flatMap((name) => readable(name) ?? [])
    return profiles.filter(({ key }) => resolve(key) === resolve(path))
  }

  function readable(name: string): Profile | undefined {
    try {
      return findProfile(folder, name)
    } catch (error) {
      if (error instanceof UsageError) return undefined
      throw error
    }
  }

  function existing(name: string): Profile {
    const profile = findProfile(folder, name)
    if (profile !== undefined) return profile
    const similar = nearest(name, listProfiles(folder))
    const hint =
      similar === undefined ? `svc init ${name} creates it, svc profiles lists all` : `did you mean ${similar}?`
    throw new UsageError(`there is no profile ${name}: ${hint}`)
  }

  function implied(): { name: string; profile: Profile } | undefined {
    const name = explicitKey === undefined ? defaultProfile(folder) : undefined
    const profile = name === undefined ? undefined : findProfile(folder, name)
    return name === undefined || profile === undefined ? undefined : { name, profile }
  }
}

function formatOf({ json = false, quiet = false, output }: GlobalOptions): OutputFormat {
  if (quiet) return 'ids'
  return output ?? (json ? 'ndjson' : 'table')
}

function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}

/** A variable that is set but empty counts as not set. */
function textOf(value: string | undefined): string | undefined {
  return value === '' ? undefined : value
}
