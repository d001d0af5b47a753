/**
 * Dependencies run one way: services and deploy/local import libs, libs import libs without a
 * cycle, nobody imports a service, and only tests import `test/`. An import by package name, an import by relative path
 * and an entry in a package.json all count.
 */
import { posix } from 'node:path'

export interface SourceFile {
  /** From the root of the repository. */
  readonly path: string
  readonly text: string
}

type Kind = 'libs' | 'services' | 'deploy' | 'test'

interface Edge {
  readonly path: string
  /** Folders of packages: `libs/nats`, `services/budget`, `deploy/local`, `test`. */
  readonly from: string
  readonly to: string
  /** Of tests alone: in a test's file, or a development dependency. */
  readonly forTests: boolean
}

/** @returns one sentence for each violation. */
export function findWrongDependencies(files: readonly SourceFile[]): string[] {
  const folderOf = new Map(
    files
      .filter(({ path }) => path.endsWith('/package.json'))
      .map(({ path, text }) => [String(JSON.parse(text).name), posix.dirname(path)]),
  )
  const edges = files.flatMap((file) => {
    const from = packageOf(file.path)
    if (from === undefined) return []
    return targetsOf(file).flatMap(({ target, forTests }) => {
      const to = target.startsWith('@') ? folderOf.get(target) : packageOf(target)
      return to === undefined || to === from ? [] : [{ path: file.path, from, to, forTests }]
    })
  })
  const wrong = edges.filter((edge) => !isAllowed(edge)).map(({ path, to }) => `${path} must not depend on ${to}`)
  return [...new Set(wrong), ...findCycles(edges.filter(({ forTests }) => !forTests))]
}

function isAllowed({ from, to, forTests }: Edge): boolean {
  const kind = kindOf(to)
  if (kind === 'services') return false
  return kind === 'libs' || forTests || kindOf(from) === 'test'
}

/** What a file imports: package names, and paths from the root. */
function targetsOf({ path, text }: SourceFile): { target: string; forTests: boolean }[] {
  if (path.endsWith('package.json')) {
    const { devDependencies = {}, ...rest } = JSON.parse(text)
    const runtime = { ...rest.dependencies, ...rest.optionalDependencies, ...rest.peerDependencies }
    return [
      ...Object.keys(runtime).map((target) => ({ target, forTests: false })),
      ...Object.keys(devDependencies).map((target) => ({ target, forTests: true })),
    ]
  }
  const specifiers = [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*(['"])(.+?)\1/g)].map((match) => match[2] ?? '')
  const targets = specifiers.flatMap((specifier) => {
    if (specifier.startsWith('.')) return [posix.join(posix.dirname(path), specifier)]
    return /^@svc\/[^/]+/.exec(specifier)?.slice(0, 1) ?? []
  })
  return targets.map((target) => ({ target, forTests: isTest(path) }))
}

/** A path along the edges that ends where it began, if there is one. */
function findCycles(edges: readonly Edge[]): string[] {
  const targets = new Map<string, Set<string>>()
  for (const { from, to } of edges) targets.set(from, (targets.get(from) ?? new Set()).add(to))
  const finished = new Set<string>()
  const visit = (folder: string, trail: string[]): string[] => {
    if (trail.includes(folder)) return [`a cycle: ${[...trail.slice(trail.indexOf(folder)), folder].join(' -> ')}`]
    if (finished.has(folder)) return []
    const found = [...(targets.get(folder) ?? [])].flatMap((next) => visit(next, [...trail, folder]))
    finished.add(folder)
    return found
  }
  return [...targets.keys()].flatMap((folder) => visit(folder, []))
}

function packageOf(path: string): string | undefined {
  return /^(?:(?:libs|services|deploy)\/[^/]+|test)(?=\/)/.exec(path)?.[0]
}

function kindOf(folder: string): Kind {
  return folder.split('/')[0] as Kind
}

function isTest(path: string): boolean {
  return /(^|\/)test\/.+\.ts$|\.test\.ts$/.test(path)
}
