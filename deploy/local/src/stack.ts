/** Starts the whole system on one machine, step by step. Stops it in the opposite order. */
import { rmdirSync } from 'node:fs'
import { findBuild } from '@svc/build/find.ts'
import { startKeeper } from '@svc/processes/keep.ts'
import { createMark, reclaim } from '@svc/processes/marks.ts'
import { removeScratch } from '@svc/processes/scratch.ts'
import { loadSecrets } from './engines/secrets.ts'
import { lockFolder } from './machine/folder-lock.ts'
import { checkMemory, prepareDataFolder } from './machine/resources.ts'
import { metricsTargets, writeMetricsTargets } from './output/metrics-targets.ts'
import { checkPorts, gatewayUrls } from './start/addresses.ts'
import { startDatabase, startMessageBus } from './start/engines.ts'
import { INFO, type Run, reasonOf, type StackOptions, say } from './start/run.ts'
import { startSystem } from './start/system.ts'

interface Stack extends AsyncDisposable {
  /** Base URLs of the gateways. */
  readonly urls: string[]
  /** Settles with a sentence if an engine ends by itself. */
  readonly failed: Promise<string>
}

/** @throws StartError with one sentence that says what is wrong. In that case no process is left running. */
export async function startStack(options: StackOptions): Promise<Stack> {
  const { config } = options
  await using started = new AsyncDisposableStack()
  const engineLost = new AbortController()

  prepareDataFolder(config.dataDir)
  started.defer(() => removeIfEmpty(config.dataDir))
  const processes = Object.values(config.replicas).reduce((sum, count) => sum + count, 1)
  checkMemory(processes, config.databaseUrl === undefined)
  const mark = createMark(config.dataDir)
  const keeper = await startKeeper(mark)
  started.defer(() => keeper.release())
  started.use(await lockFolder(config.dataDir, mark))
  const leftovers = await reclaim(mark.stack)
  if (leftovers.length > 0)
    say(options, INFO, `stopped processes that the previous run left behind: ${leftovers.join(', ')}`)
  removeScratch(mark)
  await checkPorts(config)

  const secrets = await loadSecrets(config.dataDir)
  const run: Run = { ...options, mark, secrets, started, engineLost }
  // The first start of a clone builds while Postgres starts.
  const [build, databaseUrlFor] = await Promise.all([config.part === 'engines' ? '' : findBuild(), startDatabase(run)])
  const natsUrlFor = await startMessageBus(run)
  const targets = metricsTargets(config)
  started.defer(writeMetricsTargets(config.dataDir, targets))
  await startSystem(run, {
    build,
    natsUrlFor,
    databaseUrlFor,
    httpPort: config.httpPort,
    authority: config.authority,
    challengeKey: config.challengeKey ?? secrets.challengeKey,
    webhookSecretKey: config.webhookSecretKey ?? secrets.webhookSecretKey,
    metricsPorts: new Map(targets.map(({ process, port }) => [process, port])),
    // The launcher's cache of compiled code is not theirs (package.json). A build has its own.
    env: { ...options.env, NODE_COMPILE_CACHE: undefined, SVC_LOG_LEVEL: config.logLevel },
  })
  const running = started.move()
  return {
    urls: gatewayUrls(config),
    failed: reasonOf(engineLost.signal),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

function removeIfEmpty(folder: string): void {
  try {
    rmdirSync(folder)
  } catch {
    // the folder already contains data
  }
}
