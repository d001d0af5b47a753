import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { findFreePort } from '@svc/local/engines/ports.ts'
import { startPostgres } from '@svc/local/engines/postgres.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark, findMarked } from '@svc/processes/marks.ts'
import { cpuMs, residentBytes } from './process-cpu.ts'

/** The system under load: the local stack as in `pnpm start`, on a durable Postgres that the floors share. */
export interface BenchSystem extends AsyncDisposable {
  readonly port: number
  readonly authority: string
  /** Options of the local stack. */
  readonly dataDir: string
  /** The superuser's URL of the database that the one-process floor uses. */
  readonly adminUrl: string
  /** CPU milliseconds used so far, by kind of process. */
  cpu(): Record<string, number>
  /** Resident bytes, by kind of service. */
  memory(): Record<string, number>
}

const ROOT = fileURLToPath(new URL('../../..', import.meta.url))
/** A start takes minutes on a busy machine. A launcher that fails exits well before this limit. */
const HEALTH_LIMIT_MS = 600_000

/**
 * @param settings further environment. Rate limits and budgets are too high to matter.
 * @param root the checkout whose code runs; by default this one.
 */
export async function startBenchSystem(settings: NodeJS.ProcessEnv = {}, root = ROOT): Promise<BenchSystem> {
  await using stack = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'svc-bench-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  const dataDir = mkdtempSync(join(folder, 'data-'))
  const mark = createMark(folder)
  // Also ends the engine if this process is killed.
  const keeper = await startKeeper(mark, folder)
  stack.defer(() => keeper.release())
  const postgres = stack.adopt(
    await startPostgres({
      folder,
      mark,
      password: 'bench',
      durable: true,
      maxConnections: 200,
      // The values of deploy/kubernetes/examples/cloudnative-pg, because those of the local stack are for a small machine.
      sharedBuffersMib: 1024,
      settings: { max_wal_size: '8GB' },
      onProblem: (line) => process.stderr.write(`postgres: ${line}\n`),
    }),
    (engine) => engine.stop().then(() => undefined),
  )
  const port = await findFreePort()
  const authority = `127.0.0.1:${port}`
  const launcher = spawn(process.execPath, ['deploy/local/src/main.ts'], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      ...NO_LIMITS,
      ...settings,
      SVC_HTTP_PORT: String(port),
      SVC_DATA_DIR: dataDir,
      SVC_DATABASE_URL: postgres.url,
    },
  })
  stack.defer(() => stop(launcher))
  await untilHealthy(`http://${authority}`, launcher)
  const stackMark = createMark(dataDir)
  const sumOf = (measure: (pid: number) => number): Record<string, number> => {
    const sums: Record<string, number> = {}
    for (const { pid, name } of findMarked(stackMark.stack)) {
      const kind = name.replace(/-\d+$/, '')
      if (kind !== 'keeper') sums[kind] = (sums[kind] ?? 0) + measure(pid)
    }
    return sums
  }
  const running = stack.move()
  return {
    port,
    authority,
    dataDir,
    adminUrl: postgres.url,
    cpu: () => ({ postgres: cpuMs(postgres.pid ?? 0, { withChildren: true }), ...sumOf(cpuMs) }),
    memory: () => sumOf(residentBytes),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

const NO_LIMITS = {
  SVC_POW_DIFFICULTY: '1',
  SVC_RATE_PER_SECOND: '1000000',
  SVC_RATE_BURST: '1000000',
  SVC_REGISTRATION_RATE_PER_SECOND: '1000000',
  SVC_REGISTRATION_RATE_BURST: '1000000',
  SVC_DAILY_FREE_UNITS: '1000000000',
  SVC_DAILY_HARD_LIMIT: '1000000000',
  SVC_DAILY_INTRODUCTIONS: '1000000',
  SVC_LOG_LEVEL: 'warn',
}

export async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGTERM')
  await ended
}

/** Starts a floor: a process from `floors/`, which prints its port. */
export async function startFloor(
  name: 'fixed' | 'notify' | 'one-process',
  env: NodeJS.ProcessEnv = {},
): Promise<{ child: ChildProcess; port: number }> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(`./floors/${name}.ts`, import.meta.url))], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const [line] = (await once(child.stdout, 'data')) as [Buffer]
  return { child, port: Number(line.toString().trim()) }
}

export function startGenerator(): ChildProcess {
  return fork(fileURLToPath(new URL('./load/generator.ts', import.meta.url)))
}

async function untilHealthy(url: string, launcher: ChildProcess): Promise<void> {
  const limit = Date.now() + HEALTH_LIMIT_MS
  for (;;) {
    const healthy = await fetch(`${url}/v2/health`).then(
      (response) => response.ok,
      () => false,
    )
    if (healthy) return
    if (launcher.exitCode !== null || Date.now() > limit) throw new Error('the local stack did not start')
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
