import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Metafile } from 'esbuild'
import { ROOT } from './sources.ts'

export interface Package {
  readonly name: string
  readonly version: string
  /** As its makers wrote it: an SPDX expression. */
  readonly license: string
}

const FOLDER = /node_modules\/\.pnpm\/[^/]+\/node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/

/** @returns the folders, in the repository, of the packages of others that have code in what the bundler made. */
export function foldersOf(outputs: Metafile['outputs']): string[] {
  const paths = Object.values(outputs).flatMap(({ inputs }) =>
    Object.keys(inputs).filter((path) => (inputs[path]?.bytesInOutput ?? 0) > 0),
  )
  return [...new Set(paths.flatMap((path) => FOLDER.exec(path) ?? []))].toSorted()
}

/** @param folder in the repository. @throws Error if the package does not say its name, version and licence. */
export function readPackage(folder: string): Package {
  const { name, version, license } = JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
  if ([name, version, license].some((value) => typeof value !== 'string'))
    throw new Error(`${folder}/package.json must have a name, a version and a licence`)
  return { name, version, license }
}
