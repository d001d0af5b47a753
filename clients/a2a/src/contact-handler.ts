import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type * as A2A from '@a2a-js/sdk'
import { Message, Role, SendMessageRequest, TaskPushNotificationConfig, TaskState } from '@a2a-js/sdk'
import {
  RequestMalformedError,
  TaskNotCancelableError,
  TaskNotFoundError,
  UnsupportedOperationError,
} from '@a2a-js/sdk/errors'
import { type A2ARequestHandler, InMemoryTaskStore, type ServerCallContext } from '@a2a-js/sdk/server'
import type { Contact } from './contacts.ts'
import { explain } from './explain-refusal.ts'
import type { Outbox, Outgoing } from './outbox.ts'
import type { Pushes } from './pushes.ts'
import { isEnded } from './task-states.ts'
import { type Change, type TaskBook, until } from './tasks.ts'
import { encodeWire, type Json } from './wire.ts'

interface ContactHandlerDeps {
  readonly contact: Contact
  readonly book: TaskBook
  readonly outbox: Outbox
  readonly pushes: Pushes
  /** An id that nobody else can foresee, the same for the same text. */
  readonly idOf: (text: string) => string
  /** Milliseconds that a blocking call waits for the result. */
  readonly waitMs: number
  readonly card: () => Promise<A2A.AgentCard>
}

const CANCEL_WAIT_MS = 10_000

/**
 * Answers a local A2A client in the name of one remote agent. A message becomes a direct message whose id depends on the contact
 * and on the id of A2A, so a repeat is the same message. Everything else is answered from the book.
 */
export class ContactHandler implements A2ARequestHandler {
  readonly #deps: ContactHandlerDeps

  constructor(deps: ContactHandlerDeps) {
    this.#deps = deps
  }

  getAgentCard(): Promise<A2A.AgentCard> {
    return this.#deps.card()
  }

  async getAuthenticatedExtendedAgentCard(): Promise<A2A.AgentCard> {
    throw new UnsupportedOperationError({ message: 'there is no extended card' })
  }

  async sendMessage(params: SendMessageRequest): Promise<A2A.Message | A2A.Task> {
    const { book, waitMs } = this.#deps
    const changes = book.changes(AbortSignal.timeout(waitMs))
    const turn = await this.#send(params)
    const isAnswered = (): boolean => {
      const { over, seq, task } = this.#turn(turn)
      // An agent that waits for a login goes on by itself.
      return over || (seq > 0 && task.status?.state === TaskState.TASK_STATE_AUTH_REQUIRED)
    }
    if (params.configuration?.returnImmediately !== true) await until(changes, isAnswered)
    const { task, reply } = this.#turn(turn)
    return reply ? Message.fromJSON(reply) : shortened(task, params.configuration?.historyLength)
  }

  async *sendMessageStream(params: SendMessageRequest): AsyncGenerator<A2A.StreamResponse, void, undefined> {
    const turn = await this.#send(params)
    const { task, over, reply } = this.#turn(turn)
    if (reply) yield { payload: { $case: 'message', value: Message.fromJSON(reply) } }
    else
      yield* this.#follow(
        task,
        over,
        (change) => change.turn === turn,
        (change) => change.over,
      )
  }

  async *resubscribe({ id }: A2A.SubscribeToTaskRequest): AsyncGenerator<A2A.StreamResponse, void, undefined> {
    const task = this.#task(id)
    if (isEnded(task)) throw new UnsupportedOperationError({ message: `the task ${id} has ended: use GetTask` })
    yield* this.#follow(
      task,
      false,
      (change) => change.task === id,
      () => isEnded(this.#task(id)),
    )
  }

  /** The task as it is, then its changes. Called without a wait after the look at the task, so that no change is missed. */
  async *#follow(
    task: A2A.Task,
    over: boolean,
    isWanted: (change: Change) => boolean,
    isLast: (change: Change) => boolean,
  ): AsyncGenerator<A2A.StreamResponse, void, undefined> {
    const stop = new AbortController()
    const changes = this.#deps.book.changes(stop.signal)
    try {
      yield { payload: { $case: 'task', value: task } }
      if (over) return
      for await (const [change] of changes) {
        if (!isWanted(change)) continue
        yield* change.responses
        if (isLast(change)) return
      }
    } finally {
      stop.abort()
    }
  }

  async getTask({ id, historyLength }: A2A.GetTaskRequest): Promise<A2A.Task> {
    return shortened(this.#task(id), historyLength)
  }

  /** The SDK's store knows the filters and pages of A2A. */
  async listTasks(params: A2A.ListTasksRequest, context: ServerCallContext): Promise<A2A.ListTasksResponse> {
    const { pageSize = 1, status, historyLength } = params
    checkLength(historyLength)
    if (!(pageSize >= 1 && pageSize <= 100) || status === TaskState.UNRECOGNIZED)
      throw new RequestMalformedError({ message: 'pageSize must be from 1 to 100, and status a known state' })
    const store = new InMemoryTaskStore(() => 'all')
    for (const task of this.#deps.book.list(this.#deps.contact.agentId)) await store.save(task, context)
    return store.list(params, context)
  }

  /** The remote agent decides. Waits a moment for its answer. */
  async cancelTask({ id }: A2A.CancelTaskRequest): Promise<A2A.Task> {
    const { contact, book, outbox } = this.#deps
    const isOver = (): boolean => isEnded(this.#task(id))
    if (isOver()) throw new TaskNotCancelableError({ message: `the task ${id} has ended` })
    const changes = book.changes(AbortSignal.timeout(CANCEL_WAIT_MS))
    const message = { to: contact.name, type: 'event' as const, threadId: id, isPatient: false }
    await outbox.add(encodeWire({ kind: 'cancel', task: id }).map((body) => ({ ...message, body })))
    await until(changes, isOver)
    return this.#task(id)
  }

  async createTaskPushNotificationConfig(config: TaskPushNotificationConfig): Promise<TaskPushNotificationConfig> {
    const named = this.#named(config)
    const others = this.#pushesOf(config.taskId).filter(({ id }) => id !== named.id)
    await this.#deps.book.setPushes(config.taskId, [...others, named].map(asJson))
    return named
  }

  async getTaskPushNotificationConfig({
    taskId,
    id,
  }: A2A.GetTaskPushNotificationConfigRequest): Promise<TaskPushNotificationConfig> {
    const found = this.#pushesOf(taskId).find((config) => config.id === id)
    return found ?? notFound(`${taskId} with the push notification ${id}`)
  }

  async listTaskPushNotificationConfigs({
    taskId,
  }: A2A.ListTaskPushNotificationConfigsRequest): Promise<A2A.ListTaskPushNotificationConfigsResponse> {
    return { configs: this.#pushesOf(taskId), nextPageToken: '' }
  }

  async deleteTaskPushNotificationConfig({ taskId, id }: A2A.DeleteTaskPushNotificationConfigRequest): Promise<void> {
    const left = this.#pushesOf(taskId).filter((config) => config.id !== id)
    await this.#deps.book.setPushes(taskId, left.map(asJson))
  }

  /**
   * Sends a message, unless it was sent before. Resolves when the service has accepted it, or after the wait.
   * @returns the id of its turn.
   */
  async #send(params: SendMessageRequest): Promise<string> {
    const { contact, book, outbox, idOf, waitMs } = this.#deps
    const { message, configuration } = params
    const isWhole = message?.parts.every(({ content }) => content !== undefined) === true && message.parts.length > 0
    if (message === undefined || !isWhole || message.messageId === '' || message.role !== Role.ROLE_USER)
      throw new RequestMalformedError({
        message: 'a message needs a messageId, the role ROLE_USER, and parts with content',
      })
    checkLength(configuration?.historyLength)
    const turn = idOf(`${contact.agentId}\0${message.messageId}`)
    const known = book.findTurn(contact.agentId, turn)
    if (known === undefined || known.refusal !== undefined) await this.#begin(turn, message, params)
    const { outgoing, task } = this.#turn(turn)
    if (outgoing.length > 0) {
      await outbox.add(outgoing)
      await book.posted(task.id, turn)
    }
    await Promise.race([outbox.settled(turn), once(AbortSignal.timeout(waitMs), 'abort')])
    const { refusal } = this.#turn(turn)
    if (refusal !== undefined) throw explain(refusal, contact.name)
    return turn
  }

  async #begin(turn: string, message: A2A.Message, params: SendMessageRequest): Promise<void> {
    const { contact, book, idOf } = this.#deps
    const known = message.taskId === '' ? undefined : this.#task(message.taskId)
    if (known !== undefined && isEnded(known))
      throw new UnsupportedOperationError({ message: `the task ${known.id} has ended: send a message without taskId` })
    if (known !== undefined && !['', known.contextId].includes(message.contextId))
      throw new RequestMalformedError({ message: `the task ${known.id} is in the context ${known.contextId}` })
    const id = known?.id ?? turn
    const contextId = known?.contextId ?? (message.contextId || turn)
    const own: A2A.Message = { ...message, taskId: id, contextId }
    const push = params.configuration?.taskPushNotificationConfig
    const named = push && asJson(this.#named({ ...push, taskId: id }))
    const configuration = params.configuration && { ...params.configuration, taskPushNotificationConfig: undefined }
    const request = SendMessageRequest.toJSON({ ...params, tenant: '', message: { ...own, taskId: '' }, configuration })
    const pieces = encodeWire({ kind: 'send', turn, task: id, request: request as Json })
    const outgoing = pieces.map((body, at): Outgoing => {
      const first = { id: turn, type: 'request' as const, threadId: known?.id, isPatient: false }
      // Their ids are foreseen too, so that a later process sends none twice. They wait for units, because the first is paid for.
      const other = { id: idOf(`${turn}\0${body.group}\0${at}`), type: 'event' as const, threadId: id, isPatient: true }
      return { to: contact.name, body, turn, ...(at === 0 ? first : other) }
    })
    const status = { state: TaskState.TASK_STATE_SUBMITTED, message: undefined, timestamp: new Date().toISOString() }
    const empty: A2A.Task = { id, contextId, status, artifacts: [], history: [], metadata: undefined }
    const place = { contact: contact.agentId, turn, task: id, push: named }
    await book.begin(place, { messageId: message.messageId, outgoing }, (before = empty) => ({
      ...before,
      history: [...before.history, own],
    }))
  }

  #named(config: TaskPushNotificationConfig): TaskPushNotificationConfig {
    this.#deps.pushes.check(config)
    return { ...config, id: config.id || randomBytes(9).toString('base64url') }
  }

  #pushesOf(taskId: string): TaskPushNotificationConfig[] {
    return this.#deps.book.pushesOf(this.#task(taskId).id).map((json) => TaskPushNotificationConfig.fromJSON(json))
  }

  #task(id: string): A2A.Task {
    return this.#deps.book.find(this.#deps.contact.agentId, id) ?? notFound(id)
  }

  #turn(id: string) {
    return this.#deps.book.findTurn(this.#deps.contact.agentId, id) ?? notFound(id)
  }
}

function notFound(id: string): never {
  throw new TaskNotFoundError({ message: `there is no task ${id} with this contact` })
}

function checkLength(historyLength: number | undefined): void {
  if (historyLength !== undefined && historyLength < 0)
    throw new RequestMalformedError({ message: 'historyLength must not be negative' })
}

function shortened(task: A2A.Task, historyLength: number | undefined): A2A.Task {
  checkLength(historyLength)
  if (historyLength === undefined) return task
  return { ...task, history: historyLength === 0 ? [] : task.history.slice(-historyLength) }
}

function asJson(config: TaskPushNotificationConfig): Json {
  return TaskPushNotificationConfig.toJSON(config) as Json
}
