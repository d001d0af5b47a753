import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Edit } from './mutations.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Copies what belongs to the repository, as it is now, with its installed packages: those of the workspace are the
 * copy's own.
 */
export function copyTree(target: string): void {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, maxBuffer: 64 << 20 })
  for (const file of list.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(ROOT, file), join(target, file))
    const modules = join(dirname(file), 'node_modules')
    // Links into the store and to the workspace's other packages, relative ones.
    if (file.endsWith('package.json') && dirname(file) !== '.' && existsSync(join(ROOT, modules))) {
      cpSync(join(ROOT, modules), join(target, modules), { recursive: true, verbatimSymlinks: true })
    }
  }
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'))
}

/** @throws Error where a text does not occur exactly once: then the mutation is out of date, and says nothing. */
export function applyEdits(root: string, edits: readonly Edit[]): void {
  for (const { file, find, replace } of edits) {
    const text = readFileSync(join(root, file), 'utf8')
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`${file} has this ${count} times, and should have it once: ${find}`)
    writeFileSync(
      join(root, file),
      text.replace(find, () => replace),
    )
  }
}
