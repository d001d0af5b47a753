import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PATCHES = join(ROOT, 'patches')
const WHOLE = join(PATCHES, 'postgres@3.4.9.patch')
const PARTS = globSync('postgres/{fixes,tuning}/*.patch', { cwd: PATCHES }).toSorted()
const ROWS = [...read('patches/postgres/README.md').matchAll(/^\| `(\S+\.patch)` .*\| `(\S+\.test\.ts)`: (.+?) *\|$/gm)]

const folder = mkdtempSync(join(tmpdir(), 'svc-patches-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** The installed package, which includes the patch. */
const INSTALLED = join(ROOT, 'libs/postgres/node_modules/postgres')

function apply(patch: string, ...options: string[]): void {
  execFileSync('git', ['apply', ...options, patch], {
    cwd: folder,
    env: { ...process.env, GIT_CEILING_DIRECTORIES: tmpdir() },
  })
}

function sourcesOf(root: string): Map<string, string> {
  const paths = globSync('src/*.js', { cwd: root }).toSorted()
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]))
}

describe('the patch of postgres', () => {
  test('is the sum of its parts', () => {
    cpSync(join(INSTALLED, 'src'), join(folder, 'src'), { recursive: true })
    for (const part of PARTS.toReversed()) apply(join(PATCHES, part), '--reverse')
    expect(sourcesOf(folder)).not.toEqual(sourcesOf(INSTALLED))
    apply(WHOLE)
    expect(sourcesOf(folder)).toEqual(sourcesOf(INSTALLED))
  })

  test('every part has its row, with an existing test', () => {
    expect(ROWS.map(([, part]) => `postgres/${part}`).toSorted()).toEqual(PARTS)
    for (const [, part, path = '', title = ''] of ROWS) expect(read(path), part).toContain(`'${title}'`)
  })

  test('is for the one version in the catalog', () => {
    const { catalog, patchedDependencies } = parse(read('pnpm-workspace.yaml'))
    expect(patchedDependencies[`postgres@${catalog.postgres}`]).toBe('patches/postgres@3.4.9.patch')
  })
})
