/**
 * A profile is a name for an agent's key file and service. Each profile is a file `profiles/<name>.json` in the configuration
 * folder. The file `default-profile` names the profile that is used if none is named.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '@svc/sdk/store/durable-file.ts'
import { codeOf } from '@svc/sdk/store/system-error.ts'
import { UsageError } from '../io.ts'

export interface Profile {
  /** Path of the key file. */
  readonly key: string
  readonly url: string
  /** The authority that `svc init` found at the URL. It is pinned: signatures name it from then on. */
  readonly authority?: string
  /** The name under which `svc init` registered the key. Messages for another name are not verified. */
  readonly agent?: string
}

const PROFILE_NAME = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** @throws UsageError if the name is not a valid file name on every platform. */
export function assertProfileName(name: string): void {
  if (PROFILE_NAME.test(name)) return
  throw new UsageError(`${name} is not a valid profile name: use a-z, 0-9, _ and -, and begin with a letter or digit`)
}

/** @returns undefined if the profile does not exist. @throws UsageError if its file is damaged. */
export function findProfile(folder: string, name: string): Profile | undefined {
  assertProfileName(name)
  const path = profilePath(folder, name)
  const text = readIfThere(path)
  if (text === undefined) return undefined
  const value = parse(text)
  const { key, url, authority, agent } = value ?? {}
  const isPinned = [authority, agent].every((pin) => pin === undefined || typeof pin === 'string')
  if (typeof key !== 'string' || typeof url !== 'string' || !isPinned) {
    throw new UsageError(`${path} is not a profile: it must have "key" and "url"; svc init creates profiles`)
  }
  return {
    key,
    url,
    ...(typeof authority === 'string' ? { authority } : {}),
    ...(typeof agent === 'string' ? { agent } : {}),
  }
}

export function listProfiles(folder: string): string[] {
  const profiles = join(folder, 'profiles')
  return unlessMissing(profiles, () => readdirSync(profiles), [])
    .filter((file) => file.endsWith('.json'))
    .map((file) => file.slice(0, -'.json'.length))
    .filter((name) => PROFILE_NAME.test(name))
    .toSorted()
}

export function saveProfile(folder: string, name: string, profile: Profile): void {
  assertProfileName(name)
  writeDurably(profilePath(folder, name), `${JSON.stringify(profile, null, 2)}\n`)
}

/** Removes a profile. Its key file stays. */
export function removeProfile(folder: string, name: string): void {
  assertProfileName(name)
  rmSync(profilePath(folder, name), { force: true })
  if (defaultProfile(folder) === name) rmSync(join(folder, 'default-profile'), { force: true })
}

export function defaultProfile(folder: string): string | undefined {
  const name = readIfThere(join(folder, 'default-profile'))?.trim()
  return name === undefined || !PROFILE_NAME.test(name) ? undefined : name
}

export function setDefaultProfile(folder: string, name: string): void {
  writeDurably(join(folder, 'default-profile'), `${name}\n`)
}

function profilePath(folder: string, name: string): string {
  return join(folder, 'profiles', `${name}.json`)
}

function readIfThere(path: string): string | undefined {
  return unlessMissing<string | undefined>(path, () => readFileSync(path, 'utf8'), undefined)
}

/** @returns `instead` if the path does not exist. @throws UsageError if it cannot be read. */
function unlessMissing<T>(path: string, read: () => T, instead: T): T {
  try {
    return read()
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return instead
    throw new UsageError(`${path} cannot be read: ${(cause as Error).message}`, { cause })
  }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
