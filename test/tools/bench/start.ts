/**
 * What a start of the local stack costs, by `npx pnpm start` as a user types it: the time until the first 200, the CPU of each process
 * until then, and the memory of the idle stack. Rounds alternate between this checkout and others.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@svc/local/engines/ports.ts'
import { createMark, findMarked } from '@svc/processes/marks.ts'
import { median } from './load/http-load.ts'
import { cpuMs } from './process-cpu.ts'

interface StartOptions {
  readonly rounds: number
  /** Folders of other checkouts, separated by spaces. */
  readonly with: string
}

/** One start: figures by name. */
type Start = Readonly<Record<string, number>>

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
const SERVICE = /^(?:gateway|identity|messaging|boards|budget|stream|webhook)-1$/
const LIMIT_MS = 120_000
const POLL_MS = 20
/** The caches of a start are collected after this time. */
const IDLE_MS = 15_000

export async function benchStart({ rounds, with: others }: StartOptions): Promise<void> {
  const roots = [ROOT, ...others.split(' ').filter(Boolean)].map((root) => resolve(root))
  const measured = new Map<string, Start[]>(roots.map((root) => [root, []]))
  for (const root of roots) await measureStart(root) // fills the caches
  for (let round = 0; round < rounds; round += 1) {
    for (const root of round % 2 === 0 ? roots : roots.toReversed()) measured.get(root)?.push(await measureStart(root))
  }
  console.log(`Medians of ${rounds} starts on an empty data folder\n`)
  console.log(`| | ${roots.map((root) => basename(root)).join(' | ')} |\n|---|${'---|'.repeat(roots.length)}`)
  for (const name of Object.keys(measured.get(roots[0] ?? '')?.[0] ?? {})) {
    const cells = roots.map((root) => median((measured.get(root) ?? []).map((start) => start[name] ?? 0)).toFixed(2))
    console.log(`| ${name} | ${cells.join(' | ')} |`)
  }
}

async function measureStart(root: string): Promise<Start> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-start-'))
  const port = await findFreePort()
  const startedMs = performance.now()
  const launcher = spawn('npx', ['--yes', 'pnpm', 'start'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, SVC_DATA_DIR: folder, SVC_HTTP_PORT: String(port), SVC_LOG_LEVEL: 'warn' },
  })
  const ended = once(launcher, 'exit')
  try {
    await untilHealthy(`http://127.0.0.1:${port}/v2/health`, startedMs + LIMIT_MS)
    const seconds = (performance.now() - startedMs) / 1_000
    const { stack } = createMark(folder)
    const cpu = findMarked(stack).filter(({ name }) => SERVICE.test(name))
    const cpuSeconds = cpu.map(({ pid }) => cpuMs(pid) / 1_000)
    await sleep(IDLE_MS)
    const processes = findMarked(stack)
    const services = processes.filter(({ name }) => SERVICE.test(name))
    return {
      'seconds until the first 200': seconds,
      'CPU of one service until then, s': median(cpuSeconds),
      'resident in the services, MiB': sumOf(services, 'Rss'),
      'of it not shared, MiB': sumOf(services, 'Pss'),
      'resident in all processes, MiB': sumOf(processes, 'Rss'),
      'proportional in all processes, MiB': sumOf(processes, 'Pss'),
      processes: processes.length,
    }
  } finally {
    launcher.kill('SIGTERM')
    await ended
    while (findMarked(createMark(folder).stack).length > 0) await sleep(POLL_MS)
    rmSync(folder, { recursive: true, force: true })
  }
}

async function untilHealthy(url: string, limitMs: number): Promise<void> {
  while (performance.now() < limitMs) {
    const isHealthy = await fetch(url).then(
      ({ status }) => status === 200,
      () => false,
    )
    if (isHealthy) return
    await sleep(POLL_MS)
  }
  throw new Error(`no 200 from ${url}`)
}

function sumOf(processes: readonly { readonly pid: number }[], field: 'Rss' | 'Pss'): number {
  const kibibytes = processes.map(({ pid }) => {
    try {
      const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
      return Number(new RegExp(`^${field}: +(\\d+) kB$`, 'm').exec(text)?.[1] ?? 0)
    } catch {
      return 0 // ended meanwhile
    }
  })
  return kibibytes.reduce((sum, one) => sum + one, 0) / 1_024
}
