/**
 * A disk without room, without a disk of one's own: a limit on the size of files (RLIMIT_FSIZE), lowered under a
 * running engine. What would make a file longer fails as it does on a full disk, with another number (EFBIG; both
 * ignore SIGXFSZ). Linux alone; elsewhere there is no way to lower the limit of another process.
 */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Fault } from './fault.ts'

const run = promisify(execFile)
/**
 * The soft limit alone, so that it can be raised again, and as the user whose process it is: nobody else may, not even
 * root in a container.
 */
async function limit(pid: number, bytes: string): Promise<void> {
  const { uid, gid } = statSync(`/proc/${pid}`)
  const user = process.getuid?.() === 0 ? { uid, gid } : {}
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`], user)
}

/**
 * Every backend: tables, indexes and WAL beyond this size cannot grow. A failed write of WAL is a panic, and all
 * sessions end.
 */
export const fullPostgresDisk: Fault = {
  name: 'full-disk-postgres',
  target: 'postgres',
  holdMs: [500, 3_000],
  weight: 0.7,
  async inject({ postgres }, random) {
    const [postmaster, ...backends] = postgres.pids()
    const bytes = random.pick([8_192, 65_536, 1_048_576, 8_388_608])
    // Not the postmaster: what it starts after a panic must find room, as after somebody has made some.
    const limited = await Promise.allSettled(backends.map((pid) => limit(pid, String(bytes))))
    if (!limited.some(({ status }) => status === 'fulfilled')) throw new Error('no limit could be set')
    return {
      detail: `${bytes} bytes, postmaster ${postmaster}`,
      async heal() {
        await Promise.allSettled(backends.map((pid) => limit(pid, 'unlimited')))
      },
    }
  },
}

/**
 * The stream takes nothing any more. NATS remembers a failed write until it is started again (nats-server pull request
 * 7788, in 2.14), so whoever has made room does that too: until then events wait in the outbox.
 */
export const fullNatsDisk: Fault = {
  name: 'full-disk-nats',
  target: 'nats',
  holdMs: [500, 3_000],
  weight: 0.7,
  async inject({ nats }, random) {
    const bytes = random.pick([4_096, 65_536, 1_048_576])
    const pids = nats.pids()
    for (const pid of pids) await limit(pid, String(bytes))
    return {
      detail: `${bytes} bytes`,
      async heal() {
        await nats.stop()
        await nats.start()
      },
    }
  },
}
