/**
 * The effect of an attack on other agents. Bystanders send messages at a moderate pace while an attacker floods the
 * gateway, holds connections, or holds a lock. The first row is without an attack. Tests check the bounds; this benchmark
 * only prints times.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import postgres from 'postgres'
import { type BenchSystem, startBenchSystem, startGenerator } from '../bench-system.ts'
import { type BenchAgent, dataOf, registerAgents } from '../load/bench-agents.ts'
import { loaderOf, type Round } from '../rounds.ts'
import type { AttackOrder, AttackReport, CrowdOrder, FloodOrder } from './hostile-attacker.ts'
import { FLOODS, type Flood } from './hostile-attacks.ts'

interface HostileOptions {
  readonly secondsPerRound: number
}

const BYSTANDERS = 16
/** The number of the bystanders' connections, and the pause of each between an answer and its next request. */
const CONNECTIONS = 8
const REST_MS = 25
const WARM_UP_SECONDS = 5
const SAMPLE_MS = 100
const MIB = 1024 * 1024

const PER_SECOND: Record<Flood, number> = {
  challenges: 1_000,
  'registrations with wrong work': 400,
  'requests with a wrong signature': 800,
  health: 500,
  'bodies with 10,900 members': 400,
  'messages to a log that is held': 50,
}

const ATTACKS: readonly (FloodOrder | CrowdOrder)[] = [
  ...FLOODS.map((flood): FloodOrder => ({ kind: 'flood', flood, perSecond: PER_SECOND[flood], connections: 200 })),
  { kind: 'unread', connections: 250 },
  { kind: 'slow headers', connections: 4_000 },
]

interface Scene {
  readonly system: BenchSystem
  readonly sql: postgres.Sql
  readonly bystanders: readonly BenchAgent[]
  readonly attacker: BenchAgent
  readonly held: BenchAgent
  readonly generator: ChildProcess
  readonly attacking: ChildProcess
  readonly seconds: number
}

export async function benchHostile({ secondsPerRound: seconds }: HostileOptions): Promise<void> {
  await using stack = new AsyncDisposableStack()
  const system = stack.use(await startBenchSystem())
  const sql = stack.adopt(postgres(system.adminUrl, { max: 1, onnotice: () => {} }), (client) => client.end())
  const names = Array.from({ length: BYSTANDERS }, (_, index) => `bystander-${index}`)
  const bystanders = await registerAgents(names, system.authority)
  const [attacker, held] = await registerAgents(['attacker', 'held'], system.authority)
  if (attacker === undefined || held === undefined) throw new RangeError('no agents')
  const generator = stack.adopt(startGenerator(), (child) => void child.kill())
  const attacking = stack.adopt(
    fork(fileURLToPath(new URL('./hostile-attacker.ts', import.meta.url))),
    (child) => void child.kill(),
  )
  const scene: Scene = { system, sql, bystanders, attacker, held, generator, attacking, seconds }

  await bystand(scene, WARM_UP_SECONDS)
  console.log(`Bystanders: ${CONNECTIONS} connections, ${REST_MS} ms of rest, ${seconds} s for each row\n`)
  console.log(
    '| attack | it was answered | others accepted/s | p50 ms | p99 ms | refused | gateway CPU µs | identity CPU µs | gateway MiB |',
  )
  console.log('|---|---|---|---|---|---|---|---|---|')
  const calm = await bystand(scene, seconds)
  printRow('none', calm, calm, { bytes: system.memory().gateway ?? 0 })
  for (const attack of ATTACKS) await runAttack(scene, attack, calm)
  console.log('\nCPU is for each request of the attack, beyond what the bystanders use. MiB is the most that was seen.')
}

async function runAttack(scene: Scene, attack: FloodOrder | CrowdOrder, calm: Round): Promise<void> {
  const { system, attacker, held, attacking, seconds } = scene
  const order: AttackOrder = {
    ...attack,
    port: system.port,
    authority: system.authority,
    attacker: dataOf(attacker),
    held: held.name,
    // A flood starts before the measurement of the bystanders and ends after it.
    seconds: seconds + 2,
  }
  const name = attack.kind === 'flood' ? attack.flood : `${attack.connections} connections, ${attack.kind}`
  const holding = name === 'messages to a log that is held' ? holdLog(scene, held) : undefined
  let most = 0
  const sampling = setInterval(() => {
    most = Math.max(most, system.memory().gateway ?? 0)
  }, SAMPLE_MS)
  const prepared = Promise.withResolvers<void>()
  const report = carryOut(attacking, order, prepared.resolve)
  await prepared.promise
  const round = await bystand(scene, seconds)
  const answered = await report
  clearInterval(sampling)
  await holding?.release()
  printRow(name, round, calm, { attack: answered, bytes: most })
}

/** Locks the row of an agent's log, like a process that stalls inside its transaction. */
function holdLog({ sql }: Scene, { agentId }: BenchAgent): { release(): Promise<void> } {
  const released = Promise.withResolvers<void>()
  const transaction = sql.begin(async (tx) => {
    await tx`select from messaging.logs where id = ${agentId} for update`
    await released.promise
  })
  return {
    async release() {
      released.resolve()
      await transaction
    },
  }
}

function carryOut(child: ChildProcess, order: AttackOrder, onPrepared: () => void): Promise<AttackReport> {
  return new Promise((resolve, reject) => {
    const onExit = (): void => reject(new Error('the attacker ended'))
    const onMessage = (message: 'prepared' | AttackReport): void => {
      if (message === 'prepared') {
        onPrepared()
        return
      }
      child.off('message', onMessage).off('exit', onExit)
      resolve(message)
    }
    child.on('message', onMessage).on('exit', onExit)
    child.send(order)
  })
}

function bystand({ system, generator, bystanders }: Scene, seconds: number): Promise<Round> {
  const load = {
    connections: CONNECTIONS,
    count: Math.ceil((CONNECTIONS * seconds * 1_000) / REST_MS),
    restMs: REST_MS,
  }
  return loaderOf(generator, system, bystanders)({ kind: 'messages' }, { ...load, seconds })
}

function printRow(
  name: string,
  round: Round,
  calm: Round,
  { attack, bytes = 0 }: { attack?: AttackReport | undefined; bytes?: number } = {},
): void {
  const answers = Object.entries(attack?.answers ?? {})
  const answered = answers.map(([status, count]) => `${count} × ${status}`).join(', ')
  const requests = answers.reduce((sum, [status, count]) => sum + (/^\d/.test(status) ? count : 0), 0)
  const share = attack === undefined ? 0 : Math.min(1, round.elapsedMs / attack.elapsedMs)
  const extraUs = (process: string): string => {
    if (requests === 0) return ''
    const calmMs = ((calm.cpu[process] ?? 0) / calm.accepted) * round.accepted
    return ((((round.cpu[process] ?? 0) - calmMs) / (requests * share)) * 1_000).toFixed(0)
  }
  const cells = [
    name,
    answered,
    ((round.accepted / round.elapsedMs) * 1_000).toFixed(0),
    round.accepted === 0 ? 'none' : round.p50Ms.toFixed(1),
    round.accepted === 0 ? 'none' : round.p99Ms.toFixed(1),
    Object.values(round.refused).reduce((sum, count) => sum + count, 0),
    extraUs('gateway'),
    extraUs('identity'),
    (bytes / MIB).toFixed(0),
  ]
  console.log(`| ${cells.join(' | ')} |`)
}
