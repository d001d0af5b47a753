import { randomBytes } from 'node:crypto'
import { createBoard, setMember } from '@svc/contracts/boards.ts'
import type { AssignableRole, Board, BoardDetails } from '@svc/contracts/resources.ts'
import { type Database, openDatabase } from '@svc/postgres/database.ts'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { createLogger } from '@svc/telemetry/logger.ts'
import { createTestDatabase } from '@svc/test/support/engines/database.ts'
import { startTestNats } from '@svc/test/support/engines/engines.ts'
import { type BudgetPeer, startBudgetPeer } from '@svc/test/support/stand-ins/budget-peer.ts'
import type { TestProcess } from '@svc/test/support/system/processes.ts'
import { connectCalls, type ServiceCalls, spawnWithin, startWithin } from '@svc/test/support/system/service-harness.ts'
import type { BoardsConfig } from '../src/config.ts'
import { startBoards } from '../src/service.ts'

export const silent = createLogger('test', 'silent')
/** A gateway's is 5 s; these are for what is right, on a machine that others use as well. */
const DEFAULT_CALL_TIMEOUT_MS = 20_000

export interface Harness extends AsyncDisposable, ServiceCalls {
  readonly config: BoardsConfig
  /** As the service's own role. */
  readonly database: Database
  /** As superuser. */
  readonly admin: Database
  readonly budget: BudgetPeer
  /** A board as asked for, public where nothing is said. */
  create(owner: string, board?: Partial<Board>): Promise<BoardDetails>
  /** Sets a role. @returns the code that it is refused with, or `ok`. */
  assign(boardId: string, caller: string, agentId: string, role: AssignableRole): Promise<string>
  /** Serves in this process, beside what the harness runs. */
  start(): Promise<AsyncDisposable>
  /** Starts a process of the service: for one that is killed. */
  spawn(env?: NodeJS.ProcessEnv): Promise<TestProcess>
}

interface HarnessOptions {
  /** Processes that serve, as far as state goes; 2, so that state hidden in one fails a test. */
  replicas?: number
  /** How long a call waits for its answer. */
  callTimeoutMs?: number
}

/** The service on real engines, with a stand-in for budget. */
export async function startHarness({
  replicas = 2,
  callTimeoutMs = DEFAULT_CALL_TIMEOUT_MS,
}: HarnessOptions = {}): Promise<Harness> {
  await using stack = new AsyncDisposableStack()
  const testDatabase = stack.use(await createTestDatabase(['boards']))
  const nats = stack.use(await startTestNats())
  const budget = stack.use(await startBudgetPeer(nats.urlFor('budget')))
  const config: BoardsConfig = {
    natsUrl: nats.urlFor('boards'),
    databaseUrl: testDatabase.urlFor('boards'),
    process: { logLevel: 'silent', metrics: undefined },
    poolSize: 4,
  }
  for (let replica = 0; replica < replicas; replica += 1) stack.use(await startBoards(config))
  const { call, codeOf } = await connectCalls(stack, nats.urlFor('gateway'), callTimeoutMs)
  const open = (url: string): Database => stack.use(openDatabase({ url, application: 'test', logger: silent }))
  const database = open(config.databaseUrl)
  const admin = open(testDatabase.adminUrl)
  const running = stack.move()
  return {
    config,
    database,
    admin,
    budget,
    call,
    codeOf,
    create: (owner, board = {}) =>
      call(createBoard, { owner, board: { title: 'a board', visibility: 'public', ...board } }),
    assign: (board_id, caller, agent_id, role) =>
      codeOf(setMember, { caller, board_id, agent_id, standing: 'active', role }),
    start: () => startWithin(running, () => startBoards(config)),
    spawn: (env = {}) =>
      spawnWithin(running, 'boards', { SVC_NATS_URL: config.natsUrl, SVC_DATABASE_URL: config.databaseUrl, ...env }),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  }
}

/** The id of an agent that nobody else is. */
export function newAgent(): string {
  return agentIdOf(randomBytes(32))
}

export function newAgents(count: number): string[] {
  return Array.from({ length: count }, newAgent)
}
