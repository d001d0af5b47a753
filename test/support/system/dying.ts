import { eventually } from '../eventually.ts'
import type { TestProcess } from './processes.ts'
import type { TestSystem } from './system.ts'

const MAX_ATTEMPTS = 20
/** Settling is done behind the answer. */
const BEHIND_ANSWER_MS = 500

/**
 * Runs `work` with a process that dies at `failpoint`, and starts it again, as it was, when it has. Where it is a matter of
 * chance whether the place is passed, `work` is done again until it was.
 * @param name of a process that is the only one of its service, so that it is the one that is asked.
 * @param work answers when it has its answers, which may be after the process has been started again.
 * @throws Error where it would not die.
 */
export async function withDeathAt(
  system: TestSystem,
  failpoint: string,
  name: string,
  work: () => Promise<unknown>,
): Promise<void> {
  await system.kill(name)
  const dying = await system.start(name, { SVC_FAILPOINTS: `${failpoint}=kill` })
  let dead = false
  void dying.ended.then(() => {
    dead = true
  })
  try {
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

/** Asks until the process has died of it: one that stood still for long may have refused, or not been asked in time. */
export async function endingOf(dying: TestProcess, ask: () => Promise<string>): Promise<string> {
  const ended = dying.ended.then(({ reason }) => reason)
  for (let answer = 'unavailable'; answer === 'unavailable'; ) answer = await Promise.race([ended, ask()])
  return ended
}
