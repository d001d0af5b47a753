import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { findSvc } from '@svc/test/support/run/svc.ts'
import { expect } from 'vitest'

const MAIN = await findSvc()
/** Ends with a slash. */
const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

/** Makes `npx pnpm svc` and `npx pnpm exec node` start without npx, and gives each job a process group, as a terminal does. */
const PRELUDE = `set -m
npx() {
  if [ "$2" = exec ]; then shift 3; ${JSON.stringify(process.execPath)} ${JSON.stringify(ROOT)}"$@"
  else shift 2; ${JSON.stringify(process.execPath)} ${JSON.stringify(MAIN)} "$@"; fi
}
`

interface Block {
  readonly language: string
  readonly code: string
}

interface Place {
  /** The working folder. It is also HOME. */
  readonly folder: string
  readonly url: string
  readonly env?: NodeJS.ProcessEnv
}

/** The code blocks of a page, in order. */
export function blocksOf(markdown: string): Block[] {
  return [...markdown.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, language = '', code = '']) => ({
    language,
    code,
  }))
}

/** The part of a page under a heading of the second level. */
export function sectionOf(markdown: string, heading: string): string {
  return markdown.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0] ?? ''
}

/**
 * Runs the `bash` blocks of a page in one shell, as a reader types them. If a `text` block comes next, the output must be as
 * shown there. Any other block must succeed.
 */
export async function runPage(markdown: string, { folder, url, env = {} }: Place): Promise<void> {
  const printed = join(folder, 'printed.txt')
  writeFileSync(printed, '')
  const output = openSync(printed, 'a')
  const shell = spawn('bash', ['--norc', '-s'], {
    cwd: folder,
    env: { ...ENVIRONMENT, HOME: folder, SVC_URL: url, ...env },
    stdio: ['pipe', output, output, 'pipe'],
  })
  closeSync(output)
  const exited = once(shell, 'exit')
  const [stdin, , , finished] = shell.stdio
  const ends = createInterface({ input: finished as NodeJS.ReadableStream })[Symbol.asyncIterator]()
  stdin?.write(PRELUDE)
  let hasJobs = false
  try {
    const blocks = blocksOf(markdown)
    for (const [at, { language, code }] of blocks.entries()) {
      if (language !== 'bash') continue
      hasJobs ||= / &$/m.test(code)
      const next = blocks[at + 1]
      const shown = next?.language === 'text' ? next.code : undefined
      const begin = readFileSync(printed, 'utf8').length
      writeFileSync(join(folder, 'block.sh'), code)
      // A block whose output is not shown stops at the first failure. Descriptor 3 reports the end of a block.
      stdin?.write(
        `${shown === undefined ? 'set -e' : 'set +e'}\n. ./block.sh < /dev/null 3>&-\nset +e\necho ended >&3\n`,
      )
      const { done } = await ends.next()
      const read = (): string => readFileSync(printed, 'utf8').slice(begin)
      if (done === true) expect.fail(`${code}\nfailed:\n${read()}`)
      if (shown !== undefined) await expectShown(read, shown, hasJobs)
    }
  } finally {
    // A job is a process group. Its leader may have ended already.
    stdin?.end('for job in $(jobs -p); do kill -- "-$job"; done\nexit\n')
    await exited
  }
}

/** A background job may print at any time, so its lines are awaited, and the order of lines is not compared. */
async function expectShown(read: () => string, shown: string, hasJobs: boolean): Promise<void> {
  const expected = shapeOf(shown)
  const inOrder = (text: string): string => (hasJobs ? text.split('\n').toSorted().join('\n') : text)
  const check = (): void => expect(inOrder(shapeOf(read()))).toBe(inOrder(expected))
  if (hasJobs) await eventually(check)
  else check()
}

/** The output with placeholders for everything that differs in each run. */
function shapeOf(output: string): string {
  return output
    .replaceAll(/^key( +).*\//gm, 'key$1<folder>/')
    .replaceAll(/ed25519:[0-9a-f]{64}/g, '<key>')
    .replaceAll(/\b[0-9a-f]{32}\b/g, '<id>')
    .replaceAll(/\b[1-9A-HJ-NP-Za-km-z]{43,44}\b/g, '<agent>')
    .replaceAll(/\b[1-9A-HJ-NP-Za-km-z]{8}…/g, '<agent>')
    .replaceAll(/\b[0-9a-z]{20,40}\b/g, '<board>')
    .replaceAll(/"sig":"[^"]*"/g, '"sig":"<signature>"')
    .replaceAll(/"next_cursor":"[^"]+"/g, '"next_cursor":"<cursor>"')
    .replaceAll(/\b20\d\d-[0-9TZ:.-]+/g, '<time>')
    .replaceAll(/\b\d{10}\b/g, '<seconds>')
    .replaceAll(/\b127\.0\.0\.1:\d+/g, '<authority>')
    .replaceAll(/^ *\d+ {1,2}(?=<id>)/gm, '<cursor> ')
    .replaceAll(/saved in .*/g, 'saved in <folder>')
    .replaceAll(/try again in .*/g, 'try again in <time>')
}
