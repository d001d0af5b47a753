import { execFileSync, spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { dirname, join } from 'node:path'
import { type LogEvent, parseLogLine } from '@svc/local/output/log-lines.ts'
import { type ServiceOptions, startService } from '@svc/local/services.ts'
import type { ServiceName } from '@svc/local/topology.ts'
import { type Child, type Ending, startChild } from '@svc/processes/child.ts'
import type { TestRun } from '../engines/nats/engine-broker.ts'
import { eventually } from '../eventually.ts'

export interface TestProcess {
  /** `messaging-2` */
  readonly name: string
  readonly pid: number | undefined
  /** The log lines so far. */
  readonly log: readonly LogEvent[]
  /** @throws Error with the log, if the process ends before it is ready. */
  untilReady(): Promise<void>
  /** Sends a signal and waits until the process has ended. */
  kill(signal: NodeJS.Signals): Promise<Ending>
  /** Sends SIGTERM. @returns how the process ended; after a drain, with code 0. */
  stop(): Promise<Ending>
  readonly ended: Promise<Ending>
}

/** Long, because on a fresh clone the first processes of a run compile their code and read it from a cold disk, all at once. */
const READY_LIMIT_MS = 90_000
const STOP_LIMIT_MS = 25_000
/** Environment variables that a container gets. */
const PASSED = /^(?:SVC_|NODE_EXTRA_CA_CERTS$)/

/** Starts one process of a service. It ends with the test run at the latest. */
export function startTestProcess(options: {
  service: ServiceName
  index?: number
  run: TestRun
  env: NodeJS.ProcessEnv
}): TestProcess {
  const log: LogEvent[] = []
  const { SVC_TEST_IMAGE: image } = process.env
  const start = image === undefined ? startService : startFromImage(image)
  const child = start({
    index: 1,
    ...options,
    module: join(options.run.build, `${options.service}.js`),
    mark: options.run.mark,
    onLine: (line) => log.push(parseLogLine(line, Date.now())),
  })
  let ended: Ending | undefined
  void child.ended.then((ending) => {
    ended = ending
  })
  return {
    name: child.name,
    get pid() {
      return child.pid
    },
    log,
    ended: child.ended,
    stop: child.stop,
    async untilReady() {
      const ready = (): boolean => ended !== undefined || log.some(({ message }) => message === 'ready')
      await eventually(ready, { timeoutMs: READY_LIMIT_MS, what: `${child.name} being ready` })
      if (ended === undefined) return
      throw new Error(`${child.name} ended (${ended.reason}): ${log.map(({ message }) => message).join('; ')}`)
    },
    async kill(signal) {
      child.kill(signal)
      return child.ended
    },
  }
}

/**
 * For `SVC_TEST_IMAGE=<image>`: runs the process in a separate container, on the host's network and with the restrictions
 * of deploy/compose. The pid is the process's pid on the host.
 */
function startFromImage(image: string): (options: ServiceOptions) => Child {
  return ({ service, index, env, onLine }) => {
    const container = `svc-test-${randomUUID()}`
    const passed = Object.keys(env).filter((variable) => PASSED.test(variable) && env[variable] !== undefined)
    const { NODE_EXTRA_CA_CERTS: caFile } = env
    const folders = new Set(passed.filter((name) => name.endsWith('_FILE')).map((name) => dirname(env[name] ?? '')))
    const args = [
      // share the pid namespace: the first process of a namespace cannot kill itself, which failpoints do
      ...['run', '--rm', '--name', container, '--network', 'host', '--pid', 'host'],
      ...['--read-only', '--cap-drop', 'ALL', '--security-opt', 'no-new-privileges', '--no-healthcheck'],
      ...passed.flatMap((variable) => ['--env', variable]),
      ...[...folders].flatMap((folder) => ['--volume', `${folder}:${folder}:ro`]),
      ...(caFile === undefined ? [] : ['--volume', `${caFile}:${caFile}:ro`]),
      ...[image, `${service}.js`],
    ]
    const { DOCKER_HOST, HOME } = process.env
    const child = startChild({
      name: `${service}-${index}`,
      command: 'docker',
      args,
      env: { ...env, DOCKER_HOST, HOME },
      onLine,
    })
    // a process that has ended cannot receive a signal
    const kill = (signal: NodeJS.Signals): void =>
      void spawnSync('docker', ['kill', '--signal', signal, container], { stdio: 'ignore' })
    return {
      ...child,
      get pid() {
        const format = ['inspect', '--format', '{{.State.Pid}}']
        return Number(execFileSync('docker', [...format, container], { encoding: 'utf8' }))
      },
      kill,
      async stop() {
        kill('SIGTERM')
        const timer = setTimeout(() => kill('SIGKILL'), STOP_LIMIT_MS)
        try {
          return await child.ended
        } finally {
          clearTimeout(timer)
        }
      },
    }
  }
}
