/**
 * Forbids exports that no other file uses, so that the line itself tells a reader how far a change reaches. Loading a whole
 * file (`import * as`, `import()`, `export *`, `typeof import()`) uses all of its exports. Contracts are exempt, because
 * other programs may use them, and so are the entry points that a package.json names one by one.
 */
import { posix } from 'node:path'
import type { SourceFile } from '../source-file.ts'
import { isModule, resolverOf } from './imports.ts'

const DECLARATION =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|const|let|class|interface|type|enum) ([\w$]+)/gm
const NAMED = /\b(?:import|export)\s+(?:type\s+)?(?:[\w$]+\s*,\s*)?\{([^}]*)\}\s*from\s*(['"])(.+?)\2/g
const WHOLE = /(?:\*(?:\s+as\s+[\w$]+)?\s+from|\bimport\s*\()\s*(['"])(.+?)\1/g
/** `const { a, b: c } = await import('…')` */
const AT_RUN_TIME = /\{([^{}]*)\}(?:\s*:\s*typeof import\([^)]*\))?\s*=\s*await\s+import\s*\(\s*(['"])(.+?)\2/g

/** @returns one sentence for each unused export. */
export function findNeedlessExports(files: readonly SourceFile[]): string[] {
  const resolve = resolverOf(files)
  const used = new Set<string>()
  const whole = new Set(findEntryPoints(files))
  for (const { path, text } of files) {
    if (!isModule(path)) continue
    for (const [, names = '', , specifier = ''] of text.matchAll(NAMED)) use(path, names, specifier)
    for (const [, names = '', , specifier = ''] of text.matchAll(AT_RUN_TIME)) use(path, names, specifier)
    for (const [, , specifier = ''] of text.replace(AT_RUN_TIME, '').matchAll(WHOLE))
      whole.add(resolve(path, specifier))
  }
  return files
    .filter(({ path }) => isModule(path) && !path.startsWith('libs/contracts/') && !whole.has(path))
    .flatMap(({ path, text }) =>
      [...text.matchAll(DECLARATION)]
        .map(([, name = '']) => name)
        .filter((name) => !used.has(`${path} ${name}`))
        .map((name) => `${path} exports ${name}, which no other file imports`),
    )

  function use(path: string, names: string, specifier: string): void {
    const target = resolve(path, specifier)
    for (const part of names.split(',')) {
      const [name = ''] = part
        .trim()
        .replace(/^type\s+/, '')
        .split(/\s*:\s*|\s+as\s+/)
      used.add(`${target} ${name}`)
    }
  }
}

/** Files that a package.json exports or runs by name. */
function findEntryPoints(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path.endsWith('/package.json'))
    .flatMap(({ path, text }) => {
      const { exports = {}, bin = {} } = JSON.parse(text)
      return [...Object.values(exports), ...Object.values(bin)]
        .filter((target) => typeof target === 'string' && !target.includes('*'))
        .map((target) => posix.join(posix.dirname(path), String(target)))
    })
}
