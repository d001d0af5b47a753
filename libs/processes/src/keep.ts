import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Mark, markOf } from './marks.ts'

export interface Keeper {
  /** Makes the keeper end the remains of the run and exit. After an orderly stop, nothing remains. */
  release(): Promise<void>
}

/**
 * Starts the keeper of a run (keeper.ts) in its own session, so that a Ctrl-C does not reach it. Start it before
 * everything else of the run, so that no process is ever without a keeper.
 */
export async function startKeeper(mark: Mark, removeFolder = ''): Promise<Keeper> {
  const path = fileURLToPath(new URL('./keeper.ts', import.meta.url))
  const child: ChildProcess = spawn(
    process.execPath,
    [`--title=${markOf(mark, 'keeper')}`, path, mark.stack, mark.run, removeFolder],
    { detached: true, stdio: ['pipe', 'ignore', 'inherit'], cwd: '/' },
  )
  await once(child, 'spawn')
  const ended = once(child, 'exit')
  child.unref()
  return {
    async release() {
      child.ref()
      child.stdin?.end()
      await ended
    },
  }
}
