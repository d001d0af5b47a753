/** Lists the workspace files of a package: its entries and everything that they import, including dynamic imports. */
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, posix, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/** A module of the workspace, as `<lib>/<file>.ts`. */
type Module = string

/** Matches only imports as biome formats them, because texts and comments can contain similar words. */
const SPECIFIER = /(^(?:import|export|\})[^'\n]*\bfrom |^import |\bimport\()'([^'\n]+)'/gm
const WORKSPACE = /^@svc\/([a-z0-9-]+)\/(.+\.ts)$/

/** @param entries as `@svc/<lib>/<file>`, without extension. @returns sources by module, with their imports of each other relative. */
export function collectSources(entries: readonly string[]): Map<Module, string> {
  const sources = new Map<Module, string>()
  const waiting = entries.map((entry) => entry.replace('@svc/', '').concat('.ts'))
  for (let module = waiting.pop(); module !== undefined; module = waiting.pop()) {
    if (sources.has(module)) continue
    const here = module
    const text = readFileSync(pathOf(here), 'utf8')
    sources.set(
      here,
      text.replace(SPECIFIER, (whole, before: string, specifier: string) => {
        const target = resolve(here, specifier)
        if (target === undefined) return whole
        waiting.push(target)
        const path = posix.relative(posix.dirname(here), target)
        return `${before}'${path.startsWith('.') ? path : `./${path}`}'`
      }),
    )
  }
  return sources
}

/** Declarations that no file imports, from the libs that contain these modules. */
export function ambientDeclarations(modules: Iterable<Module>, list: (folder: string) => string[]): Module[] {
  const names = new Set([...modules].map((module) => module.split('/')[0] ?? ''))
  return [...names].flatMap((lib) =>
    list(join(packageFolder(lib), 'src'))
      .filter((file) => file.endsWith('.d.ts'))
      .map((file) => posix.join(lib, file)),
  )
}

export function pathOf(module: Module): string {
  const [lib = '', ...rest] = module.split('/')
  return join(packageFolder(lib), 'src', ...rest)
}

/** The folder of `@svc/<name>`. */
export function packageFolder(name: string): string {
  const folders = ['clients', 'libs'].map((kind) => join(ROOT, kind, name))
  return folders.find((folder) => existsSync(folder)) ?? join(ROOT, 'libs', name)
}

/** The external packages that modules import. */
export function importedPackages(texts: Iterable<string>): string[] {
  const names = new Set<string>()
  for (const text of texts) {
    for (const [, , specifier = ''] of text.matchAll(SPECIFIER)) {
      if (/^\.|^node:/.test(specifier)) continue
      names.add(specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/'))
    }
  }
  return [...names].sort()
}

function resolve(from: Module, specifier: string): Module | undefined {
  const [, lib, file] = WORKSPACE.exec(specifier) ?? []
  if (lib !== undefined && file !== undefined) return `${lib}/${file}`
  return specifier.startsWith('.') && specifier.endsWith('.ts')
    ? relative('/', join('/', dirname(from), specifier)).replaceAll('\\', '/')
    : undefined
}
