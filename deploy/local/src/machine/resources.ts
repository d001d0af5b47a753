/** Checks the free resources before the start. A process that runs out of memory later is killed without a message. */
import { existsSync, mkdirSync, readFileSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { freemem } from 'node:os'
import { dirname, join } from 'node:path'
import { codeOf, StartError } from '../start-error.ts'

/** MiB of one Node process, and of both engines together, without load. Measured: 52 to 79, and 40. */
const PROCESS_MIB = 60
const ENGINES_MIB = 80
/** MiB. A new cluster takes 40, and its WAL starts at 16. */
const FREE_DISK_MIB = 100
const MIB = 1024 * 1024

/** @throws StartError if the folder cannot be created, entered or written, or its disk is full. */
export function prepareDataFolder(folder: string): void {
  const probe = join(folder, `probe.${process.pid}`)
  try {
    makeFolder(folder)
    writeFileSync(probe, 'x')
    rmSync(probe)
  } catch (error) {
    if (codeOf(error) === 'ENOSPC') throw new StartError(diskFull(folder))
    throw new StartError(
      `The data folder ${folder} cannot be written (${codeOf(error)}): set SVC_DATA_DIR to a writable folder.`,
    )
  }
  const { bavail, bsize } = statfsSync(folder)
  if ((bavail * bsize) / MIB < FREE_DISK_MIB) throw new StartError(diskFull(folder))
}

/** @throws StartError if the machine, or the container of this process, has too little free memory. */
export function checkMemory(processes: number, engines: boolean): void {
  const needed = processes * PROCESS_MIB + (engines ? ENGINES_MIB : 0)
  const available = Math.floor(availableMemoryBytes() / MIB)
  if (available >= needed) return
  throw new StartError(
    `There is not enough free memory: ${available} MiB, but the stack needs ${needed}: end other programs, or give this one more.`,
  )
}

/**
 * Creates the folders one by one. With `recursive`, mkdir never returns if the system answers ENOENT for a new folder
 * in an existing one, as /proc does.
 */
function makeFolder(path: string): void {
  if (existsSync(path)) return
  makeFolder(dirname(path))
  mkdirSync(path, { mode: 0o700 })
}

function diskFull(folder: string): string {
  return `The disk of ${folder} is full: free ${FREE_DISK_MIB} MiB, or set SVC_DATA_DIR to a folder on another disk.`
}

/** Memory that is available without swapping. File caches count as free. */
function availableMemoryBytes(): number {
  const kib = Number(/^MemAvailable:\s+(\d+)/m.exec(readText('/proc/meminfo'))?.[1])
  const machine = Number.isFinite(kib) ? kib * 1024 : freemem()
  return process.platform === 'linux' ? Math.min(machine, availableInCgroup()) : machine
}

/** Supports control groups versions 2 and 1. If this process has no limit of its own, uses the limit of the container. */
function availableInCgroup(): number {
  const groups = readText('/proc/self/cgroup')
  const root = '/sys/fs/cgroup'
  return Math.min(
    availableIn(root, /^0::(.*)$/m.exec(groups)?.[1], ['memory.max', 'memory.current', 'file']),
    availableIn(join(root, 'memory'), /^\d+:memory:(.*)$/m.exec(groups)?.[1], [
      'memory.limit_in_bytes',
      'memory.usage_in_bytes',
      'total_cache',
    ]),
  )
}

function availableIn(root: string, own = '/', [limit, usage, cache]: [string, string, string]): number {
  const folder = [join(root, own), root].find((one) => existsSync(join(one, limit)))
  const limitBytes = folder === undefined ? Number.NaN : Number.parseInt(readText(join(folder, limit)), 10)
  // Without a limit, the file contains `max`, or a number larger than any memory.
  if (folder === undefined || Number.isNaN(limitBytes)) return Number.POSITIVE_INFINITY
  const cached = Number(new RegExp(`^${cache} (\\d+)`, 'm').exec(readText(join(folder, 'memory.stat')))?.[1] ?? 0)
  return limitBytes - Number(readText(join(folder, usage))) + cached
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
