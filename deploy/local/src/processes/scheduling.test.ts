import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const module = fileURLToPath(new URL('./scheduling.ts', import.meta.url))
const hasChrt = (process.env.PATH ?? '').split(':').some((folder) => existsSync(`${folder}/chrt`))
/**
 * Prints the scheduling policies, as the kernel's numbers, of the threads of two processes. Their parent runs under
 * SCHED_BATCH; the second may preempt.
 */
const script = `
  const { mayInterrupt, takeTurns } = await import(process.argv[1])
  const { spawn } = await import('node:child_process')
  const { once } = await import('node:events')
  const { readdirSync, readFileSync } = await import('node:fs')
  takeTurns()
  const children = [1, 2].map(() => spawn(process.execPath, ['-e', 'console.log("all threads are there"); process.stdin.resume()']))
  await Promise.all(children.map(({ stdout }) => once(stdout, 'data')))
  mayInterrupt(children[1].pid)
  for (const { pid } of children) {
    const threads = readdirSync('/proc/' + pid + '/task')
    const policies = threads.map((id) => readFileSync('/proc/' + pid + '/task/' + id + '/stat', 'latin1').split(') ')[1].split(' ')[38])
    console.log([...new Set(policies)].join())
  }
  for (const child of children) child.kill()
`
const SCHED_OTHER = 0
const SCHED_BATCH = 3

it.runIf(process.platform === 'linux' && hasChrt)(
  'a process that starts afterwards does not preempt others, unless it may',
  () => {
    // Starts under the default policy, whatever policy these tests run under.
    const args = ['-o', '0', process.execPath, '--input-type=module', '-e', script, module]
    const policies = execFileSync('chrt', args, { encoding: 'utf8' }).trim().split('\n')
    expect(policies.map(Number)).toEqual([SCHED_BATCH, SCHED_OTHER])
  },
)

it.runIf(process.platform === 'linux' && canBeLate())(
  'only processes that are started this way have late timers',
  () => {
    const code = `
    const { withLateTimers } = await import(process.argv[1])
    const { spawnSync } = await import('node:child_process')
    const child = () => spawnSync('cat', ['/proc/self/timerslack_ns'], { encoding: 'utf8' }).stdout.trim()
    const before = child()
    console.log(withLateTimers(child), child() === before)
  `
    const printed = execFileSync(process.execPath, ['--input-type=module', '-e', code, module], { encoding: 'utf8' })
    expect(printed.trim()).toBe('1000000 true')
  },
)

/** Some sandboxes have no timer slack. */
function canBeLate(): boolean {
  try {
    accessSync('/proc/self/timerslack_ns', constants.R_OK | constants.W_OK)
    return true
  } catch {
    return false
  }
}

it('without this policy, or without the command for it, everything works', () => {
  const code =
    'const { mayInterrupt, takeTurns } = await import(process.argv[1]); takeTurns(); mayInterrupt(process.pid)'
  execFileSync(process.execPath, ['--input-type=module', '-e', code, module], { env: { PATH: '' } })
})
