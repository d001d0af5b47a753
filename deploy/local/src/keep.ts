import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { type Mark, markOf } from './marks.ts'

export interface Keeper {
  /** Has it end what is left of the run, which after an orderly stop is nothing. */
  release(): Promise<void>
}

/**
 * Starts the keeper of a run (keeper.ts), in a session of its own, so that a Ctrl-C does not reach it. Start it before
 * everything else of the run: then no process of the run is ever without one.
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
