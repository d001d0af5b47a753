/**
 * An agent as others write it, with the server and the store of A2A's own SDK. It says each word again, as one part of an artifact.
 * As a program, it listens on the port of its first argument, and writes the id of each message that it begins with to the file of
 * its second argument.
 */
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { AgentCard, Message, type Part, type Task, TaskState } from '@a2a-js/sdk'
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

interface EchoAgent extends AsyncDisposable {
  readonly url: string
  /** The messages that it got, in order. */
  readonly heard: readonly Message[]
}

interface EchoOptions {
  readonly port?: number
  readonly binding?: 'JSONRPC' | 'HTTP+JSON'
  readonly streaming?: boolean
  readonly onMessage?: (message: Message) => void
}

export function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

export function textOf(parts: readonly Part[]): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

/** Messages that begin with these words: `slowly` waits after each word, `forever` never ends, `ask` wants another message first. */
function createExecutor(onMessage: (message: Message) => void): AgentExecutor {
  const cancelled = new Set<string>()
  return {
    async execute({ taskId, contextId, userMessage, task }, bus) {
      onMessage(userMessage)
      const own = { taskId, contextId, metadata: undefined }
      const say = (state: TaskState, text?: string): void => {
        const message =
          text === undefined
            ? undefined
            : { ...Message.fromJSON({ messageId: `${taskId}-${state}` }), parts: [textPart(text)] }
        const status = { state, message, timestamp: new Date().toISOString() }
        bus.publish(AgentEvent.statusUpdate({ ...own, status }))
      }
      const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined }
      const begun: Task = { id: taskId, contextId, status, artifacts: [], history: [userMessage], metadata: undefined }
      bus.publish(AgentEvent.task(task ?? begun))
      const words = textOf(userMessage.parts).split(' ')
      const [first] = words
      if (first === 'ask' && task === undefined) {
        say(TaskState.TASK_STATE_INPUT_REQUIRED, 'what?')
        return bus.finished()
      }
      say(TaskState.TASK_STATE_WORKING, 'I think')
      for (const [at, word] of words.entries()) {
        const artifact = {
          artifactId: 'echo',
          name: '',
          description: '',
          parts: [textPart(`${word} `)],
          metadata: undefined,
          extensions: [],
        }
        bus.publish(AgentEvent.artifactUpdate({ ...own, artifact, append: at > 0, lastChunk: at === words.length - 1 }))
        if (first === 'slowly') await sleep(500)
        while (first === 'forever' && !cancelled.has(taskId)) await sleep(20)
      }
      say(cancelled.has(taskId) ? TaskState.TASK_STATE_CANCELED : TaskState.TASK_STATE_COMPLETED)
      bus.finished()
    },
    async cancelTask(taskId) {
      cancelled.add(taskId)
    },
  }
}

export async function startEchoAgent(options: EchoOptions = {}): Promise<EchoAgent> {
  const { port = 0, binding = 'JSONRPC', streaming = true, onMessage } = options
  const heard: Message[] = []
  const app = express()
  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const card = AgentCard.fromJSON({
    name: 'Echo',
    description: 'says it again',
    version: '1',
    supportedInterfaces: [{ url, protocolBinding: binding, protocolVersion: '1.0' }],
    capabilities: { streaming },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
  })
  const executor = createExecutor((message) => {
    heard.push(message)
    onMessage?.(message)
  })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  const handler = binding === 'JSONRPC' ? jsonRpcHandler : restHandler
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', handler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  return {
    url,
    heard,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

const [, program, port, file] = process.argv
if (program === import.meta.filename && file !== undefined) {
  await startEchoAgent({ port: Number(port), onMessage: ({ messageId }) => appendFileSync(file, `${messageId}\n`) })
}
