import { createHash } from 'node:crypto'
import { Message, Role, SendMessageRequest, StreamResponse, type Task, TaskState } from '@a2a-js/sdk'
import type { Client } from '@a2a-js/sdk/client'
import { A2AError, isRestError, TaskNotFoundError } from '@a2a-js/sdk/errors'
import type { Log } from '@svc/mcp/log.ts'
import { sleep } from '@svc/sdk/http/waiting.ts'
import type { LocalAgent } from './agent.ts'
import { Pace } from './pace.ts'
import type { Reports } from './reports.ts'
import { isEnded } from './task-states.ts'
import type { InboundTurn, Turns } from './turns.ts'
import type { Wire } from './wire.ts'

interface InboundDeps {
  readonly agent: LocalAgent
  readonly turns: Turns
  readonly reports: Reports
  readonly log: Log
  readonly signal: AbortSignal
}

const MIN_DELAY_MS = 500
const MAX_DELAY_MS = 30_000
/** After this time without an answer of the agent, the turn fails. */
const GONE_MS = 24 * 3_600_000
/** Perhaps the message makes the agent fail. */
const MAX_GIVEN = 5
const POLL_MS = 2_000
/** The message was cancelled before the agent had it. */
const CANCELED = StreamResponse.fromJSON({ task: { status: { state: 'TASK_STATE_CANCELED' } } })
/** Under this name, the agent finds who has signed the message. */
const SENDER = 'signed-agent-messaging/sender'

/** Gives messages of remote agents to the local agent, and sends what comes of them. */
export class Inbound {
  readonly #deps: InboundDeps
  readonly #running = new Set<Promise<void>>()

  constructor(deps: InboundDeps) {
    this.#deps = deps
  }

  /** Continues the turns of an earlier process. */
  resume(): void {
    for (const turn of this.#deps.turns.open) this.#start(turn)
  }

  /** Takes a message of a verified sender. Resolves when it is in the store, and ignores a repeat. */
  async take(sender: InboundTurn['sender'], { turn, task, request }: Extract<Wire, { kind: 'send' }>): Promise<void> {
    const { turns } = this.#deps
    if (turns.has(sender.agentId, turn)) return
    const contextId = SendMessageRequest.fromJSON(request).message?.contextId || task
    const context = turns.ofTask(sender.agentId, task)[0]?.context ?? digest(`${sender.agentId}\0${contextId}`)
    const progress = { given: 0, isCancelled: false, seq: 0, over: false }
    const taken = { turn, task, sender, request, atMs: Date.now(), context, ...progress }
    this.#start(await turns.put(taken))
  }

  /** Cancels the task at the local agent, beside other work. The next state says whether it worked. */
  async cancel(sender: string, task: string): Promise<void> {
    const { turns } = this.#deps
    for (const turn of turns.ofTask(sender, task)) if (!turn.over) await turns.put(turn, () => ({ isCancelled: true }))
    // Read only now: a task that the agent begins later finds the mark.
    const all = turns.ofTask(sender, task)
    const [id, newest] = [agentTaskOf(all), all.at(-1)]
    if (id !== undefined && newest !== undefined) this.#keep(this.#cancelAt(id, newest), 'cancel.failed', task)
  }

  async #cancelAt(id: string, newest: InboundTurn): Promise<void> {
    const { agent, reports, signal } = this.#deps
    const cancelled = await (await agent.connect(signal)).cancelTask({ tenant: '', id, metadata: undefined })
    if (newest.over) await reports.end(newest, { payload: { $case: 'task', value: cancelled } })
  }

  /** Resolves when nothing runs any more, after the signal. */
  async idle(): Promise<void> {
    await Promise.all(this.#running)
  }

  #start(turn: InboundTurn): void {
    this.#keep(this.#run(turn), 'turn.failed', turn.turn)
  }

  /** Logs its failure. */
  #keep(work: Promise<void>, event: string, id: string): void {
    const run = work
      .catch((error: unknown) => {
        if (!this.#deps.signal.aborted) this.#deps.log(event, { id, reason: reasonOf(error) })
      })
      .finally(() => this.#running.delete(run))
    this.#running.add(run)
  }

  async #run(begun: InboundTurn): Promise<void> {
    const { turns, reports, log, signal } = this.#deps
    let failingSinceMs: number | undefined
    let delayMs = MIN_DELAY_MS
    for (;;) {
      const turn = turns.latest(begun)
      if (turn.over) return
      if (turn.isCancelled && turn.given === 0) return reports.end(turn, CANCELED)
      try {
        return await this.#attend(turn, () => {
          failingSinceMs = undefined
          delayMs = MIN_DELAY_MS
        })
      } catch (error) {
        if (signal.aborted) return
        failingSinceMs ??= Date.now()
        if (isRefusal(error)) return reports.refuse(turn, reasonOf(error))
        if (failingSinceMs < Date.now() - GONE_MS) return reports.refuse(turn, 'the agent has not answered for a day')
        log('agent.awaited', { turn: turn.turn, reason: reasonOf(error) })
      }
      await sleep(delayMs, signal)
      delayMs = Math.min(delayMs * 2, MAX_DELAY_MS)
    }
  }

  /** Resolves when the turn is over. @throws if the agent does not answer, or refuses. */
  async #attend(turn: InboundTurn, onAnswer: () => void): Promise<void> {
    const { agent, turns, reports, signal } = this.#deps
    const client = await agent.connect(signal)
    let id = turn.agentTask ?? (turn.given > 0 ? await findTask(client, turn) : undefined)
    const note = async (found: string | undefined): Promise<void> => {
      if (found === undefined || found === id) return
      id = found
      onAnswer()
      const { isCancelled } = await turns.put(turn, () => ({ agentTask: found }))
      if (isCancelled) await client.cancelTask({ tenant: '', id: found, metadata: undefined })
    }
    let known = ''
    await using pace = new Pace(async () => {
      const task = await client.getTask({ tenant: '', id: id ?? '' })
      const before = known
      known = JSON.stringify({ ...task, history: [] })
      return isAtRest(task) || known === before ? undefined : reports.progress(turn, task)
    })
    const endWith = async (response: StreamResponse): Promise<void> => {
      await pace[Symbol.asyncDispose]()
      await reports.end(turn, response)
    }
    try {
      if (id === undefined) {
        if (turn.given >= MAX_GIVEN) return reports.refuse(turn, 'the agent fails with this message')
        const request = await this.#give(turn)
        if (request === undefined) return reports.end(turn, CANCELED)
        for await (const { payload } of client.sendMessageStream(request)) {
          if (payload?.$case === 'message') return await endWith({ payload })
          await note(payload?.$case === 'task' ? payload.value.id : payload?.value.taskId)
          pace.touch()
        }
      }
      if (id === undefined) throw new Error('the agent has answered with neither a task nor a message')
      for (;;) {
        const task = await client.getTask({ tenant: '', id })
        onAnswer()
        if (isAtRest(task)) return await endWith({ payload: { $case: 'task', value: task } })
        pace.touch()
        await sleep(POLL_MS, signal)
      }
    } catch (error) {
      if (!(error instanceof TaskNotFoundError)) throw error
      await reports.refuse(
        turn,
        'the agent has lost the task, perhaps because it was restarted. Send the message again',
      )
    }
  }

  /**
   * The request for the local agent; undefined if the turn was cancelled. It is noted first, so a later process looks for the task
   * before it sends again.
   */
  async #give(begun: InboundTurn): Promise<SendMessageRequest | undefined> {
    const { turns } = this.#deps
    const turn = await turns.put(begun, ({ given }) => ({ given: given + 1 }))
    if (turn.isCancelled || turn.over) return undefined
    const { sender, context: contextId } = turn
    const { message, configuration, metadata } = SendMessageRequest.fromJSON(turn.request)
    const { acceptedOutputModes = [], historyLength } = configuration ?? {}
    const signed = { [SENDER]: { agent_id: sender.agentId, name: sender.name } }
    return {
      tenant: '',
      message: {
        ...(message ?? Message.fromJSON({})),
        messageId: turn.turn,
        contextId,
        taskId: agentTaskOf(turns.ofTask(sender.agentId, turn.task)) ?? '',
        role: Role.ROLE_USER,
        referenceTaskIds: [],
        metadata: { ...message?.metadata, ...signed },
      },
      // Nothing else, because a push notification would let the sender choose whom the agent calls.
      configuration: {
        acceptedOutputModes,
        historyLength,
        returnImmediately: true,
        taskPushNotificationConfig: undefined,
      },
      metadata: { ...metadata, ...signed },
    }
  }
}

/** The local agent's id of the task that these turns belong to. */
function agentTaskOf(turns: readonly InboundTurn[]): string | undefined {
  return turns.find(({ agentTask }) => agentTask !== undefined)?.agentTask
}

/** The task that an earlier process has begun with this message. */
async function findTask(client: Client, { context, turn }: InboundTurn): Promise<string | undefined> {
  const status = TaskState.TASK_STATE_UNSPECIFIED
  const wanted = { tenant: '', contextId: context, status, pageToken: '', statusTimestampAfter: undefined }
  try {
    const { tasks } = await client.listTasks(wanted)
    return tasks.find(({ history }) => history.some(({ messageId }) => messageId === turn))?.id
  } catch (error) {
    // The agent cannot list tasks.
    if (isRefusal(error)) return undefined
    throw error
  }
}

/** The agent does nothing more until it gets another message. */
function isAtRest(task: Task): boolean {
  return isEnded(task) || task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED
}

/** The agent has answered, so another attempt changes nothing. A proxy before it answers with 502 to 504 while it is away. */
function isRefusal(error: unknown): boolean {
  return error instanceof A2AError && !(isRestError(error) && error.statusCode > 501)
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url')
}

/** `fetch` says only in the cause what failed. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { code } = (error.cause ?? {}) as { code?: string }
  return code === undefined ? error.message : `${error.message}: ${code}`
}
