import { eventually } from '../eventually.ts'
import type { TestProcess } from './processes.ts'
import type { TestSystem } from './system.ts'

const MAX_ATTEMPTS = 20
/** a charge is settled after the answer */
const BEHIND_ANSWER_MS = 500

/**
 * Runs `work` with a process that dies at `failpoint`, then starts the process again without the failpoint. Some work reaches the
 * failpoint only by chance, so `work` is repeated until the process dies.
 * @param name of the only process of its service, so that no other one can do the work.
 * @param work resolves when it has its answers, which may be after the process was started again.
 * @throws Error if the process does not die.
 */
export async function withDeathAt(
  system: TestSystem,
  failpoint: string,
  name: string,
  work: () => Promise<unknown>,
): Promise<void> {
  await system.kill(name)
  try {
    const dying = await startArmed(system, name, { SVC_FAILPOINTS: `${failpoint}=kill` })
    let dead = false
    void dying.ended.then(() => {
      dead = true
    })
    let attempt = 0
    do {
      attempt += 1
      await Promise.race([work(), dying.ended])
      await eventually(() => dead, { timeoutMs: BEHIND_ANSWER_MS }).catch(() => {})
    } while (!dead && attempt < MAX_ATTEMPTS)
    if (!dead) throw new Error(`${name} has not passed ${failpoint}`)
  } finally {
    await system.kill(name)
    await system.start(name)
  }
}

/** Repeats the start until the process is ready. A request of an earlier test may reach the failpoint and kill the process as it starts. */
async function startArmed(system: TestSystem, name: string, env: NodeJS.ProcessEnv): Promise<TestProcess> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await system.start(name, env)
    } catch (error) {
      if (attempt === MAX_ATTEMPTS) throw error
    }
  }
}

/** Retries until the process has died. A process that was paused for a long time may refuse the call or receive it too late. */
export async function endingOf(dying: TestProcess, ask: () => Promise<string>): Promise<string> {
  const ended = dying.ended.then(({ reason }) => reason)
  for (let answer = 'unavailable'; answer === 'unavailable'; ) answer = await Promise.race([ended, ask()])
  return ended
}
