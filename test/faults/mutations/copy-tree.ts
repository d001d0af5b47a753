import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Edit } from './mutations.ts'

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))

/**
 * Copies the files of the repository in their current state, and its installed packages. Links to workspace packages lead
 * into the copy.
 */
export function copyTree(target: string): void {
  const list = execFileSync('git', ['ls-files', '-co', '--exclude-standard', '-z'], { cwd: ROOT, maxBuffer: 64 << 20 })
  for (const file of list.toString().split('\0')) {
    if (file === '' || !existsSync(join(ROOT, file))) continue
    mkdirSync(dirname(join(target, file)), { recursive: true })
    cpSync(join(ROOT, file), join(target, file))
    const modules = join(dirname(file), 'node_modules')
    // The links are relative. They lead into the store and to other packages of the workspace.
    if (file.endsWith('package.json') && dirname(file) !== '.' && existsSync(join(ROOT, modules))) {
      cpSync(join(ROOT, modules), join(target, modules), { recursive: true, verbatimSymlinks: true })
    }
  }
  symlinkSync(join(ROOT, 'node_modules'), join(target, 'node_modules'))
}

/** @throws Error if a text does not occur exactly once. The mutation is then outdated and proves nothing. */
export function applyEdits(root: string, edits: readonly Edit[]): void {
  for (const { file, find, replace } of edits) {
    const text = readFileSync(join(root, file), 'utf8')
    const count = text.split(find).length - 1
    if (count !== 1) throw new Error(`${file} contains this text ${count} times instead of once: ${find}`)
    writeFileSync(
      join(root, file),
      text.replace(find, () => replace),
    )
  }
}
