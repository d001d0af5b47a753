/**
 * Simulates a full disk without a separate disk: lowers the file size limit (RLIMIT_FSIZE) of a running engine. A write that would
 * make a file longer then fails as on a full disk, but with EFBIG. Both engines ignore SIGXFSZ. Only Linux can lower the limit
 * of another process.
 */
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import type { Fault } from '../fault.ts'

const run = promisify(execFile)
/**
 * Sets only the soft limit, so that it can be raised again. Runs as the owner of the process: no other user may set the
 * limit, not even root in a container.
 */
async function limit(pid: number, bytes: string): Promise<void> {
  const { uid, gid } = statSync(`/proc/${pid}`)
  const user = process.getuid?.() === 0 ? { uid, gid } : {}
  await run('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`], user)
}

/**
 * Limits every backend: tables, indexes and WAL cannot grow past this size. A failed write of WAL is a panic, and all sessions
 * end.
 */
export const fullPostgresDisk: Fault = {
  name: 'full-disk-postgres',
  target: 'postgres',
  holdMs: [500, 3_000],
  weight: 0.7,
  async inject({ postgres }, random) {
    const [postmaster, ...backends] = postgres.pids()
    const bytes = random.pick([8_192, 65_536, 1_048_576, 8_388_608])
    // The postmaster keeps no limit, so the backends that it starts after a panic can write again.
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
 * The stream accepts no events. NATS 2.14 remembers a failed write until it restarts (nats-server pull request 7788), so `heal`
 * restarts it. Until then webhook makes its jobs from the logs.
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
