/**
 * Dependencies run one way: services, clients and deploy/local import libs, libs import libs, clients import clients, nothing
 * imports a service, and only tests import `test/`. The local stack runs the build. Imports by package name, imports by relative path and entries in a package.json all count.
 * circles.ts finds circles.
 */
import { posix } from 'node:path'
import type { SourceFile } from '../source-file.ts'
import { isTest, packageOf, readPackageFolders, readSpecifiers } from './imports.ts'

type Kind = 'clients' | 'libs' | 'services' | 'deploy' | 'test'

interface Edge {
  readonly path: string
  /** Folders of packages: `libs/nats`, `clients/sdk`, `services/budget`, `deploy/local`, `test`. */
  readonly from: string
  readonly to: string
  /** Used only by tests: in a test's file, or as a development dependency. */
  readonly forTests: boolean
}

/** @returns one sentence for each violation. */
export function findWrongDependencies(files: readonly SourceFile[]): string[] {
  const folderOf = readPackageFolders(files)
  const edges = files.flatMap((file) => {
    const from = packageOf(file.path)
    if (from === undefined) return []
    return targetsOf(file).flatMap(({ target, forTests }) => {
      const to = target.startsWith('@') ? folderOf.get(target) : packageOf(target)
      return to === undefined || to === from ? [] : [{ path: file.path, from, to, forTests }]
    })
  })
  const wrong = edges.filter((edge) => !isAllowed(edge)).map(({ path, to }) => `${path} must not depend on ${to}`)
  return [...new Set(wrong)]
}

function isAllowed({ from, to, forTests }: Edge): boolean {
  const kind = kindOf(to)
  if (kind === 'services') return false
  if (kind === 'libs' || forTests || kindOf(from) === 'test') return true
  return (kind === 'clients' && kindOf(from) === 'clients') || (from === 'deploy/local' && to === 'deploy/build')
}

/** The imports of a file: package names, and paths from the root. */
function targetsOf({ path, text }: SourceFile): { target: string; forTests: boolean }[] {
  if (path.endsWith('package.json')) {
    const { devDependencies = {}, ...rest } = JSON.parse(text)
    const runtime = { ...rest.dependencies, ...rest.optionalDependencies, ...rest.peerDependencies }
    return [
      ...Object.keys(runtime).map((target) => ({ target, forTests: false })),
      ...Object.keys(devDependencies).map((target) => ({ target, forTests: true })),
    ]
  }
  const targets = readSpecifiers(text).flatMap((specifier) => {
    if (specifier.startsWith('.')) return [posix.join(posix.dirname(path), specifier)]
    return /^@svc\/[^/]+/.exec(specifier)?.slice(0, 1) ?? []
  })
  return targets.map((target) => ({ target, forTests: isTest(path) }))
}

function kindOf(folder: string): Kind {
  return folder.split('/')[0] as Kind
}
