import { posix } from 'node:path'
import type { SourceFile } from '../source-file.ts'

/** Folders of packages by name: `@svc/nats` is in `libs/nats`. */
export function readPackageFolders(files: readonly SourceFile[]): Map<string, string> {
  return new Map(
    files
      .filter(({ path }) => path.endsWith('/package.json'))
      .map(({ path, text }) => [String(JSON.parse(text).name), posix.dirname(path)]),
  )
}

/** The folder of a path's package: `libs/nats`, `services/budget`, `deploy/local`, `test`. */
export function packageOf(path: string): string | undefined {
  return /^(?:(?:clients|libs|services|deploy)\/[^/]+|test)(?=\/)/.exec(path)?.[0]
}

/** Whether a file holds TypeScript. */
export function isModule(path: string): boolean {
  return /\.tsx?$/.test(path)
}

/** Whether a file only runs in tests. */
export function isTest(path: string): boolean {
  return /(^|\/)test\/.+\.ts$|\.test\.ts$/.test(path)
}

/**
 * Converts an importing path and its specifier to a path from the root. Packages export their files by name, from `src` if
 * they have one, and from the folders that their `exports` name.
 */
export function resolverOf(files: readonly SourceFile[]): (path: string, specifier: string) => string {
  const packages = new Map(
    [...readPackageFolders(files)].map(([name, folder]) => [name, { folder, exported: readExports(files, folder) }]),
  )
  return (path, specifier) => {
    if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
    const [scope = '', name = '', ...rest] = specifier.split('/')
    const found = packages.get(`${scope}/${name}`)
    if (found === undefined) return specifier
    const asked = `./${rest.join('/')}`
    const [from, to] = found.exported.find(([prefix]) => asked.startsWith(prefix)) ?? ['./', './src/']
    return posix.join(found.folder, to, asked.slice(from.length))
  }
}

/** Folders that a package exports, `./test/` to `./test/` for `"./test/*.ts": "./test/*.ts"`, the longest first. */
function readExports(files: readonly SourceFile[], folder: string): [string, string][] {
  const manifest = files.find(({ path }) => path === `${folder}/package.json`)?.text ?? '{}'
  const { exports = {} } = JSON.parse(manifest) as { exports?: Record<string, string> }
  return Object.entries(exports)
    .filter(([name]) => name.endsWith('*.ts'))
    .map(([name, target]): [string, string] => [name.slice(0, -'*.ts'.length), String(target).slice(0, -'*.ts'.length)])
    .toSorted(([a], [b]) => b.length - a.length)
}
