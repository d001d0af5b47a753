import { readFileSync, writeFileSync } from 'node:fs'
import { lockNode, type NodeBinary } from './app.ts'
import { type DebianPackage, lockPackages } from './debian.ts'
import type { Architecture } from './layout.ts'

/** What the layers below the app are made of. */
export interface Lock {
  readonly node: NodeBinary
  readonly debian: Readonly<Record<Architecture, readonly DebianPackage[]>>
}

const LOCK = new URL('lock.json', import.meta.url)

export function readLock(): Lock {
  return JSON.parse(readFileSync(LOCK, 'utf8')) as Lock
}

/** @param work an empty folder for downloads. */
export async function writeLock(work: string): Promise<void> {
  const lock: Lock = {
    node: await lockNode(work, process.versions.node),
    debian: { amd64: await lockPackages(work, 'amd64'), arm64: await lockPackages(work, 'arm64') },
  }
  writeFileSync(LOCK, `${JSON.stringify(lock, null, 2)}\n`)
}
