import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { SourceFile } from './source-file.ts'

const REMARK = fileURLToPath(new URL('../../../node_modules/.bin/remark', import.meta.url))
const OPTIONS = ['--no-config', '--no-stdout', '--no-color', '--quiet', '--frail']
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024

/**
 * Checks every relative link between Markdown files, anchors included. Links to other hosts are not checked.
 *
 * @param folder of the repository; links to targets outside it are not checked.
 * @param paths of Markdown files, relative to the folder.
 * @returns a line for each link without a target; empty if every link has one.
 */
export function findBrokenLinks(folder: string, paths: readonly string[]): Promise<string> {
  const validate = JSON.stringify({ repository: false, root: folder }).slice(1, -1)
  const args = [...OPTIONS, '--use', `remark-validate-links=${validate}`, ...paths.map((path) => join(folder, path))]
  return new Promise((resolve) => {
    execFile(REMARK, args, { maxBuffer: MAX_OUTPUT_BYTES }, (error, stdout, stderr) => {
      resolve(error === null ? '' : `${stdout}${stderr}`.trim() || error.message)
    })
  })
}

/**
 * Checks the paths in commands of Markdown files that run tests. As in vitest, a path is a part of the paths of test files.
 *
 * @param files of the repository.
 * @returns a line for each path without a test file.
 */
export function findMissingTests(files: readonly SourceFile[]): string[] {
  const tests = files.filter(({ path }) => path.endsWith('.test.ts')).map(({ path }) => path)
  return files
    .filter(({ path }) => path.endsWith('.md'))
    .flatMap(({ path, text }) =>
      [...text.matchAll(/vitest run ([^`\n]*)/g)]
        .flatMap(([, options = '']) => options.split(' ').filter((option) => /^\w[\w./-]*\//.test(option)))
        .filter((name) => !tests.some((test) => test.includes(name)))
        .map((name) => `${path}: no test file has the path ${name}`),
    )
}
