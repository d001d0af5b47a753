/** `npx pnpm start`: runs the whole system on this machine until Ctrl-C. */
import { relative } from 'node:path'
import { parseDatabaseUrl } from '@svc/config/database-url.ts'
import { ConfigError } from '@svc/config/env-reader.ts'
import { watchStarter } from '@svc/processes/starter.ts'
import { type LocalConfig, type Part, readConfig } from './config.ts'
import { formatLogEvent, type LogEvent } from './output/log-lines.ts'
import { metricsTargets } from './output/metrics-targets.ts'
import { startStack } from './stack.ts'
import { codeOf, StartError } from './start-error.ts'

const DEFAULT_URL = 'http://127.0.0.1:8080'

const stop = new AbortController()
const force = new AbortController()
const colour = process.stdout.isTTY === true && (process.env.NO_COLOR ?? '') === ''

const USAGE = `usage: npx pnpm start [--no-gateway | --engines-only]
Runs the whole system until Ctrl-C. Variables configure it: deploy/local/README.md.
  --no-gateway    all services except the gateways: look at a restored system before clients do
  --engines-only  only Postgres and NATS, without tables: for svc admin restore`
const PARTS: Readonly<Record<string, Part>> = { '--no-gateway': 'no-gateway', '--engines-only': 'engines' }

const part = readPart(process.argv.slice(2))
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, onSignal)
watchStarter(() => {
  if (stop.signal.aborted) return
  console.log('Stopping, because the npx or pnpm that started this has ended.')
  stop.abort()
})
// The reader of the output may exit first, as in `pnpm start | head`. The stack then stops as usual.
process.stdout.on('error', () => stop.abort())
process.stderr.on('error', () => {})
process.exitCode = await main()

function readPart([option, ...others]: string[]): Part {
  if (option === undefined) return 'all'
  const part = PARTS[option]
  if (part !== undefined && others.length === 0) return part
  const asksForHelp = ['-h', '--help'].includes(option)
  if (asksForHelp) console.log(USAGE)
  else console.error(USAGE)
  process.exit(asksForHelp ? 0 : 2)
}

async function main(): Promise<number> {
  try {
    const config = readConfig(process.env, part)
    await using stack = await startStack({ config, env: process.env, log, signal: stop.signal, force: force.signal })
    console.log(welcome(config, stack.urls))
    const failure = await Promise.race([stack.failed, aborted(stop.signal)])
    if (failure === undefined) return 0
    console.error(failure)
    return 1
  } catch (error) {
    if (stop.signal.aborted) return 0
    console.error(explain(error))
    return 1
  }
}

/** The first signal lets the stack drain and stop; the second stops it at once. */
function onSignal(): void {
  if (stop.signal.aborted) {
    force.abort()
    return
  }
  console.log('\nStopping. Press Ctrl-C again to stop at once.')
  stop.abort()
}

function log(name: string, event: LogEvent): void {
  console.log(formatLogEvent(name, event, colour))
}

function welcome(config: LocalConfig, urls: string[]): string {
  const { dataDir, databaseUrl, authority } = config
  const place = databaseUrl === undefined ? shortest(dataDir) : `Postgres at ${parseDatabaseUrl(databaseUrl).server}`
  if (config.part !== 'all') {
    const [what, next] =
      config.part === 'engines'
        ? ['Postgres and NATS are up', 'npx pnpm svc admin restore <folder> --reason "…"']
        : ['All services except the gateways are up', 'npx pnpm svc admin verify']
    return `\n  ${what}. Their data is in ${place}. Ctrl-C stops them; the data stays.${metricsLine(config)}\n\n  Try in another terminal:\n    ${next}\n`
  }
  // The CLI uses the first gateway at its default port without `--url`.
  const options = urls[0] === DEFAULT_URL ? '' : ` --url ${urls[0]}`
  return `
  The system is up at ${urls.join(' and ')} (authority ${authority}).
  Its data is in ${place}. Ctrl-C stops it; the data stays.${metricsLine(config)}

  Try in another terminal:
    npx pnpm svc init alice${options}
    npx pnpm svc send alice "hello" --profile alice
    npx pnpm svc inbox --profile alice
`
}

function metricsLine(config: LocalConfig): string {
  const targets = metricsTargets(config).map(({ process, port }) => `${process} ${port}`)
  return targets.length === 0 ? '' : `\n  Metrics are at /metrics on these ports: ${targets.join(', ')}.`
}

function shortest(path: string): string {
  const fromHere = relative(process.cwd(), path)
  return fromHere.startsWith('..') ? path : fromHere
}

function explain(error: unknown): string {
  if (error instanceof StartError || error instanceof ConfigError) return error.message
  if (['ENOMEM', 'EAGAIN'].includes(codeOf(error))) {
    return 'There is not enough free memory, or too many processes run: end other programs and start again.'
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error)
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined)
    else signal.addEventListener('abort', () => resolve(undefined))
  })
}
