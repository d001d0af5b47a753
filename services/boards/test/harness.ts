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

const silent = createLogger('test', 'silent')
/** A gateway waits 5 s. These timeouts are longer, because the machine is shared and the tests are about correctness. */
const DEFAULT_CALL_TIMEOUT_MS = 20_000

export interface Harness extends AsyncDisposable, ServiceCalls {
  readonly config: BoardsConfig
  /** As the service's own role. */
  readonly database: Database
  /** As superuser. */
  readonly admin: Database
  readonly budget: BudgetPeer
  /** Creates a board, public by default. */
  create(owner: string, board?: Partial<Board>): Promise<BoardDetails>
  /** Sets a role. @returns the code of the refusal, or `ok`. */
  assign(boardId: string, caller: string, agentId: string, role: AssignableRole): Promise<string>
  /** Runs another instance in this process. */
  start(): Promise<AsyncDisposable>
  /** Starts a process of the service, for tests that kill it. */
  spawn(env?: NodeJS.ProcessEnv): Promise<TestProcess>
}

interface HarnessOptions {
  /** The number of instances; 2, so that a test fails if state is hidden in one. */
  replicas?: number
  /** The timeout of a call. */
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

/** The id of a new agent. */
export function newAgent(): string {
  return agentIdOf(randomBytes(32))
}

export function newAgents(count: number): string[] {
  return Array.from({ length: count }, newAgent)
}
