import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT: string = fileURLToPath(new URL('../../..', import.meta.url))

/** Folders of packages, and single files. The lockfile represents the packages of others. */
const PARTS = ['clients', 'libs', 'services', 'deploy/build', 'deploy/image', 'patches', 'pnpm-lock.yaml']
const LEFT_OUT = /(?:^|\/)(?:node_modules|test|oci)(?:\/|$)|\.test\.ts$|\.md$/

/** A name for everything that a build is made of. */
export function hashOfSources(): string {
  const paths = PARTS.flatMap((part) => (part.includes('.') ? [part] : listFiles(part))).toSorted()
  const hashes = paths.map((path) => `${path} ${hash('sha256', readFileSync(join(ROOT, path)))}`)
  return hash('sha256', hashes.join('\n')).slice(0, 16)
}

function listFiles(folder: string): string[] {
  return readdirSync(join(ROOT, folder), { withFileTypes: true }).flatMap((entry) => {
    const path = `${folder}/${entry.name}`
    if (LEFT_OUT.test(path)) return []
    return entry.isDirectory() ? listFiles(path) : entry.isFile() ? [path] : []
  })
}
