import { posix } from 'node:path'
import type { SourceFile } from './source-file.ts'

/** The imports and re-exports of a text, as written: values, types, and dynamic imports. */
export function readSpecifiers(text: string): string[] {
  return [...text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*(['"])(.+?)\1/g)].map((match) => match[2] ?? '')
}

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
  return /^(?:(?:libs|services|deploy)\/[^/]+|test)(?=\/)/.exec(path)?.[0]
}

/** Whether a file only runs in tests. */
export function isTest(path: string): boolean {
  return /(^|\/)test\/.+\.ts$|\.test\.ts$/.test(path)
}

/**
 * Converts an importing path and its specifier to a path from the root. Packages export their files by name, from `src` if
 * they have one.
 */
export function resolverOf(files: readonly SourceFile[]): (path: string, specifier: string) => string {
  const roots = new Map<string, string>()
  for (const [name, folder] of readPackageFolders(files)) {
    const manifest = files.find(({ path }) => path === `${folder}/package.json`)?.text ?? '{}'
    const exported = JSON.parse(manifest).exports?.['./*.ts'] ?? './src/*.ts'
    roots.set(name, posix.join(folder, posix.dirname(exported)))
  }
  return (path, specifier) => {
    if (specifier.startsWith('.')) return posix.join(posix.dirname(path), specifier)
    const [scope = '', name = '', ...rest] = specifier.split('/')
    const root = roots.get(`${scope}/${name}`)
    return root === undefined ? specifier : posix.join(root, ...rest)
  }
}
