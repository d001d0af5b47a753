/**
 * Forbids circles of files and of packages, so that each part can be read, tested and replaced without the parts that use
 * it.
 *
 * A type import counts too: it vanishes at run time, but a reader has to follow it.
 *
 * A package depends on the packages in its package.json, development dependencies included, and on those that its files
 * import. The tests of packages do not count: they use `test`, which uses most libraries. The root's package.json therefore
 * has the dependency on `test` for all of them, and a package.json lists only what its package needs without tests.
 */
import type { SourceFile } from '../source-file.ts'
import { isModule, isTest, packageOf, readPackageFolders, readSpecifiers, resolverOf } from './imports.ts'

type Graph = ReadonlyMap<string, ReadonlySet<string>>

/** @returns one sentence for each circle found: at least one if there is any. */
export function findCircles(files: readonly SourceFile[]): string[] {
  return [
    ...findCirclesOf(fileGraph(files)).map((circle) => `a circle of files: ${circle.join(' -> ')}`),
    ...findCirclesOf(packageGraph(files)).map((circle) => `a circle of packages: ${circle.join(' -> ')}`),
  ]
}

function fileGraph(files: readonly SourceFile[]): Graph {
  const sources = files.filter(({ path }) => isModule(path))
  const paths = new Set(sources.map(({ path }) => path))
  const resolve = resolverOf(files)
  return graphOf(
    sources.map(({ path, text }) => ({
      from: path,
      to: readSpecifiers(text)
        .map((specifier) => resolve(path, specifier))
        .filter((target) => paths.has(target)),
    })),
  )
}

function packageGraph(files: readonly SourceFile[]): Graph {
  const folders = readPackageFolders(files)
  const resolve = resolverOf(files)
  return graphOf(
    files.flatMap(({ path, text }) => {
      const from = packageOf(path)
      // The code of `test` itself, not the tests of a package.
      if (from === undefined || (from !== 'test' && isTest(path))) return []
      const targets = path.endsWith('/package.json')
        ? readDependencies(text).map((name) => folders.get(name))
        : readSpecifiers(text).map((specifier) => packageOf(resolve(path, specifier)))
      return [{ from, to: targets.filter((to) => to !== undefined && to !== from) as string[] }]
    }),
  )
}

function readDependencies(manifest: string): string[] {
  const { dependencies, devDependencies, optionalDependencies, peerDependencies } = JSON.parse(manifest)
  return Object.keys({ ...dependencies, ...devDependencies, ...optionalDependencies, ...peerDependencies })
}

function graphOf(edges: readonly { from: string; to: readonly string[] }[]): Graph {
  const graph = new Map<string, Set<string>>()
  for (const { from, to } of edges) {
    const targets = graph.get(from) ?? new Set()
    for (const target of to) targets.add(target)
    graph.set(from, targets)
  }
  return graph
}

/** Depth first: an edge to a node on the current path closes a circle. */
function findCirclesOf(graph: Graph): string[][] {
  const finished = new Set<string>()
  const visit = (node: string, trail: readonly string[]): string[][] => {
    if (trail.includes(node)) return [[...trail.slice(trail.indexOf(node)), node]]
    if (finished.has(node)) return []
    const found = [...(graph.get(node) ?? [])].flatMap((next) => visit(next, [...trail, node]))
    finished.add(node)
    return found
  }
  return [...graph.keys()].flatMap((node) => visit(node, []))
}
