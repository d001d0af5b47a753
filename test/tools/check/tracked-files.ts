import type { SourceFile } from './source-file.ts'

/** Generated or secret files, which must not be committed. */
const GENERATED_OR_SECRET = [
  /(^|\/)(node_modules|\.data|coverage|\.vitest)\//,
  /\.(log|key|pem|tgz|pid)$/,
  /(^|\/)\.env/,
]
/** A folder of a developer's machine. */
const ABSOLUTE_PATH = /(?<![\w.])\/(?:root|home\/\w+|Users\/\w+)\/[\w.-]+/
const PRIVATE_KEY = /-----BEGIN [A-Z ]*PRIVATE KEY-----/
/** Published vectors, which must not change. */
const PUBLISHED = /^test\/vectors\//

/** Keys that only tests use are not secret. */
const TEST = /(^|\/)test\/|\.test\.ts$/

/** @returns one sentence for each file that must not be committed as it is. */
export function findMisplacedFiles(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, text }) => {
    if (GENERATED_OR_SECRET.some((pattern) => pattern.test(path))) return [`${path} is generated or secret`]
    if (PUBLISHED.test(path)) return []
    if (PRIVATE_KEY.test(text) && !TEST.test(path)) return [`${path} holds a private key`]
    const [absolute] = ABSOLUTE_PATH.exec(text) ?? []
    return absolute === undefined ? [] : [`${path} names a path that exists on one machine only: ${absolute}`]
  })
}
