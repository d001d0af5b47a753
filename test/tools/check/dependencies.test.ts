import { globSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const PAGE = read('docs/dependencies.md')

interface Workspace {
  packages: string[]
  catalog: Record<string, string>
  allowBuilds: Record<string, boolean>
}

interface Lockfile {
  packages: Record<string, { resolution: { integrity?: string; tarball?: string } }>
}

const workspace = parse(read('pnpm-workspace.yaml')) as Workspace
const lockfile = parse(read('pnpm-lock.yaml')) as Lockfile

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8')
}

/** Packages from outside this workspace, by the manifests that name them. */
function direct(): Map<string, string[]> {
  const manifests = [
    'package.json',
    ...workspace.packages.flatMap((glob) => globSync(`${glob}/package.json`, { cwd: ROOT })),
  ]
  const found = new Map<string, string[]>()
  for (const path of manifests) {
    const manifest = JSON.parse(read(path))
    const named = { ...manifest.dependencies, ...manifest.devDependencies, ...manifest.optionalDependencies }
    for (const [name, version] of Object.entries<string>(named)) {
      if (!version.startsWith('workspace:'))
        found.set(name, [...(found.get(name) ?? []), `${dirname(path)}@${version}`])
    }
  }
  return found
}

/** The first and the last cell of each row. */
function rows(): Map<string, string> {
  const lines = [...PAGE.matchAll(/^\| `([^`]+)` *\|.*\| (.+?) *\|$/gm)]
  return new Map(lines.map(([, name = '', reason = '']) => [name, reason]))
}

describe('docs/dependencies.md', () => {
  test('has a reason for every dependency, and no other rows', () => {
    expect([...rows().keys()].toSorted()).toEqual([...direct().keys()].toSorted())
    for (const [name, reason] of rows()) expect(reason.length, name).toBeGreaterThan(4)
  })

  test('every dependency has one version for all packages: in the catalog, or in a single manifest', () => {
    for (const [name, uses] of direct()) {
      const versions = new Set(uses.map((use) => use.slice(use.lastIndexOf('@') + 1)))
      expect([...versions], name).toHaveLength(1)
      if (versions.has('catalog:')) expect(Object.keys(workspace.catalog), name).toContain(name)
    }
  })

  test('every installed package comes from a registry, and has its hash in the lockfile', () => {
    const packages = Object.entries(lockfile.packages)
    expect(packages.length).toBeGreaterThan(100)
    for (const [name, { resolution }] of packages) {
      expect(resolution.integrity, name).toMatch(/^sha512-/)
      expect(resolution.tarball, name).toBeUndefined()
    }
  })

  test('install scripts run for exactly the packages whose rows say so', () => {
    const allowed = Object.keys(workspace.allowBuilds).filter((name) => workspace.allowBuilds[name] === true)
    const said = [...rows()].filter(([, reason]) => reason.includes('runs an install script')).map(([name]) => name)
    expect(said.toSorted()).toEqual(allowed.toSorted())
  })
})
