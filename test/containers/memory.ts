/** The memory of a container, and the kernel's buffers for its answers. */
import { execFile } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'

interface Held {
  /** With version 1 of cgroups, without the buffers of connections. */
  readonly memoryBytes: number
  /** Buffers of what the process has written to its port 8080, and the clients have not read. */
  readonly writtenBytes: number
  /** Open connections with unread bytes, in buffers that are at least half full. */
  readonly filled: number
}

/** The container sees its own group of processes there. */
const VERSION_1 = 'sys/fs/cgroup/memory/memory.usage_in_bytes'
const VERSION_2 = 'sys/fs/cgroup/memory.current'

/** A connection in the output of `ss`: its state, its unread bytes, and what its buffer of written bytes counts as memory. */
const CONNECTION = /^(\S+) +\d+ +(\d+) .*\n\s*skmem:\(.*,w(\d+),/gm
/** Half of the largest buffer with components/socket-buffers. The kernel asks for more only when a third of it is free. */
const FILLED_BYTES = 128 * 1024

/** @param pid of the container's first process. */
export async function heldBy(pid: string): Promise<Held> {
  const [file = ''] = [VERSION_1, VERSION_2].map((name) => `/proc/${pid}/root/${name}`).filter(existsSync)
  const ss = ['ss', '-Htnm', 'state', 'connected', '( sport = :8080 )']
  const { stdout } = await promisify(execFile)('nsenter', ['--net', '--target', pid, ...ss], { maxBuffer: 64 << 20 })
  const buffers = [...stdout.matchAll(CONNECTION)].map(([, state, unread, written]) => ({
    isFilled: state === 'ESTAB' && Number(unread) > 0 && Number(written) >= FILLED_BYTES,
    bytes: Number(written),
  }))
  return {
    memoryBytes: Number(readFileSync(file, 'utf8')),
    writtenBytes: buffers.reduce((sum, { bytes }) => sum + bytes, 0),
    filled: buffers.filter(({ isFilled }) => isFilled).length,
  }
}
