/** An A2A agent, a server of A2A's own SDK, that does what the first word of a message says. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard, Message, Task, TaskArtifactUpdateEvent, TaskStatusUpdateEvent } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

export interface ScriptedAgent extends AsyncDisposable {
  readonly url: string
  /** Lets the tasks of messages `hold <word>` and `auth <word>` go on, by these steps. Default: to the end. */
  release(word: string, ...steps: readonly Step[]): void
}

type Json = Record<string, unknown>
type Step = 'chunks' | 'end'

/** A turn of the agent. */
class Turn {
  readonly #context: RequestContext
  readonly #bus: ExecutionEventBus

  constructor(context: RequestContext, bus: ExecutionEventBus) {
    this.#context = context
    this.#bus = bus
  }

  get #ids(): { taskId: string; contextId: string } {
    const { taskId, contextId } = this.#context
    return { taskId, contextId }
  }

  begin(): void {
    const { taskId, contextId, userMessage, task } = this.#context
    const begun = {
      ...Task.fromJSON({ id: taskId, contextId, status: { state: 'TASK_STATE_WORKING', timestamp: now() } }),
      history: [userMessage],
    }
    this.#bus.publish(AgentEvent.task(task ?? begun))
  }

  status(state: string, text?: string): void {
    const message = text === undefined ? {} : { message: { ...this.#ids, ...agentMessage(text) } }
    const update = { ...this.#ids, status: { state, timestamp: now(), ...message } }
    this.#bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)))
  }

  artifact(artifactId: string, part: Json, append = false): void {
    const update = { ...this.#ids, artifact: { artifactId, parts: [part] }, append }
    this.#bus.publish(AgentEvent.artifactUpdate(TaskArtifactUpdateEvent.fromJSON(update)))
  }

  reply(text: string): void {
    const { contextId } = this.#context
    this.#bus.publish(AgentEvent.message(Message.fromJSON({ contextId, ...agentMessage(text) })))
  }
}

type Script = (turn: Turn, released: (step: Step) => Promise<void>) => Promise<void> | void

const SCRIPTS: Readonly<Record<string, Script>> = {
  complete(turn) {
    turn.begin()
    turn.artifact('result', { text: 'done' })
    turn.status('TASK_STATE_COMPLETED', 'Hello')
  },
  artifacts(turn) {
    turn.begin()
    turn.artifact('text', { text: 'text' })
    turn.artifact('file', { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' })
    turn.artifact('url', { url: 'https://example.com/output.txt', filename: 'output.txt', mediaType: 'text/plain' })
    turn.artifact('data', { data: { key: 'value', count: 42 } })
    turn.status('TASK_STATE_COMPLETED')
  },
  ask(turn) {
    turn.begin()
    turn.status('TASK_STATE_INPUT_REQUIRED', 'What else?')
  },
  reject(turn) {
    turn.begin()
    turn.status('TASK_STATE_REJECTED', 'No')
  },
  message(turn) {
    turn.reply('Direct answer')
  },
  async hold(turn, released) {
    turn.begin()
    turn.status('TASK_STATE_WORKING')
    await released('chunks')
    for (const [at, text] of ['one ', 'two ', 'three'].entries()) turn.artifact('chunks', { text }, at > 0)
    await released('end')
    turn.status('TASK_STATE_COMPLETED')
  },
  async auth(turn, released) {
    turn.begin()
    turn.status('TASK_STATE_AUTH_REQUIRED', 'Log in at example.com first')
    await released('end')
    turn.status('TASK_STATE_COMPLETED')
  },
}

export async function startScriptedAgent(): Promise<ScriptedAgent> {
  const gates = new Map<string, PromiseWithResolvers<void>>()
  const gateOf = (name: string): PromiseWithResolvers<void> => {
    const gate = gates.get(name) ?? Promise.withResolvers<void>()
    gates.set(name, gate)
    return gate
  }
  const contexts = new Map<string, string>()
  const executor: AgentExecutor = {
    async execute(context, bus) {
      contexts.set(context.taskId, context.contextId)
      const { content } = context.userMessage.parts[0] ?? {}
      const [name = '', word = ''] = content?.$case === 'text' ? content.value.split(' ') : []
      await (SCRIPTS[name] ?? SCRIPTS.complete)?.(new Turn(context, bus), (step) => gateOf(`${word} ${step}`).promise)
      bus.finished()
    },
    async cancelTask(taskId, bus) {
      const update = {
        taskId,
        contextId: contexts.get(taskId),
        status: { state: 'TASK_STATE_CANCELED', timestamp: now() },
      }
      bus.publish(AgentEvent.statusUpdate(TaskStatusUpdateEvent.fromJSON(update)))
      bus.finished()
    },
  }
  const app = express()
  const server = createServer(app)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const card = AgentCard.fromJSON({
    name: 'Scripted',
    description: 'does what the first word says',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [{ id: 'script', name: 'Script', description: 'does what the first word says', tags: ['test'] }],
  })
  const options = { validateInputModes: true }
  const requestHandler = new DefaultRequestHandler(
    card,
    new InMemoryTaskStore(),
    executor,
    ...([undefined, undefined, undefined, undefined, undefined] as const),
    options,
  )
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  return {
    url,
    release(word, ...steps) {
      for (const step of steps.length === 0 ? (['chunks', 'end'] as const) : steps) gateOf(`${word} ${step}`).resolve()
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

function agentMessage(text: string): Json {
  return { messageId: crypto.randomUUID(), role: 'ROLE_AGENT', parts: [{ text }] }
}

function now(): string {
  return new Date().toISOString()
}
