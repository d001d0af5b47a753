import { readFileSync, writeFileSync } from 'node:fs'
import { lockNode, type NodeBinary } from './app.ts'
import { type DebianPackage, downloadPackages, lockPackages } from './debian.ts'
import type { Architecture } from './layout.ts'

/** What the layers below the app are made of. */
export interface Lock {
  readonly node: NodeBinary
  /** Programs of others that are compiled into Node, with their versions. */
  readonly nodeParts: Readonly<Record<string, string>>
  readonly debian: Readonly<Record<Architecture, readonly DebianPackage[]>>
}

const LOCK = new URL('lock.json', import.meta.url)

export function readLock(): Lock {
  return JSON.parse(readFileSync(LOCK, 'utf8')) as Lock
}

/** Writes the newest versions into lock.json. @param work a folder for downloads. */
export async function writeLock(work: string): Promise<void> {
  const { node, modules: _modules, napi: _napi, ...parts } = process.versions // the latter two are interfaces of Node
  const lock: Lock = {
    node: await lockNode(work, node),
    // A part that is left out has an empty version.
    nodeParts: Object.fromEntries(
      Object.entries(parts).flatMap(([name, version]) => (version ? [[name, version]] : [])),
    ),
    debian: await lockDebian(work),
  }
  writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`)
}

/**
 * Downloads the locked packages of Debian.
 * @param orNewest use the newest packages instead, with a warning, if one of the locked ones cannot be downloaded.
 * @returns what was downloaded.
 */
export async function downloadLocked(
  work: string,
  architectures: readonly Architecture[],
  orNewest: boolean,
): Promise<Lock> {
  const lock = readLock()
  try {
    for (const architecture of architectures) await downloadPackages(work, lock.debian[architecture])
    return lock
  } catch (error) {
    if (!orNewest) throw error
    console.error(
      `${error instanceof Error ? error.message : error}\nwarning: the image gets the newest packages instead`,
    )
    return { ...lock, debian: await lockDebian(work) }
  }
}

async function lockDebian(work: string): Promise<Lock['debian']> {
  return { amd64: await lockPackages(work, 'amd64'), arm64: await lockPackages(work, 'arm64') }
}
