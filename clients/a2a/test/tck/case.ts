import { randomUUID } from 'node:crypto'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect } from 'vitest'
import type { Answer, Binding, Json, Stream } from './bindings.ts'
import type { World } from './world.ts'

/** What a test of A2A's TCK asks of a server. */
export interface Case {
  /** The TCK's names of the requirements. */
  readonly ids: readonly string[]
  readonly title: string
  /** Default: both. */
  readonly binding?: Binding['name']
  /** Why we do not meet the requirement. The test then must fail, so this entry goes when the fault goes. */
  readonly fails?: string
  readonly run: (to: Binding, world: World) => Promise<void>
}

export type Task = Json & {
  readonly id: string
  readonly contextId: string
  readonly status: { readonly state: string; readonly timestamp?: string; readonly message?: Json }
  readonly artifacts?: readonly Json[]
  readonly history?: readonly Json[]
}

export function message(text: string, more: Json = {}): Json {
  return { messageId: randomUUID(), role: 'ROLE_USER', parts: [{ text }], ...more }
}

/** The first word of the text is what the agent does. @returns the task. */
export async function send(to: Binding, text: string, more: Json = {}, configuration: Json = {}): Promise<Task> {
  return taskOf(await to.call('SendMessage', { message: message(text, more), configuration }))
}

export function taskOf(answer: Answer): Task {
  expect(answer.error).toBeUndefined()
  return (answer.result?.task ?? answer.result) as Task
}

/** A word that no other test uses, for messages `hold <word>`. */
export function newWord(): string {
  return randomUUID()
}

export async function untilState(to: Binding, id: string, state: string): Promise<Task> {
  return eventually(async () => {
    const task = taskOf(await to.call('GetTask', { id }))
    return task.status.state === `TASK_STATE_${state}` && task
  })
}

/** Reads a stream to its end. */
export async function readAll(stream: Stream): Promise<Json[]> {
  const responses: Json[] = []
  for await (const response of stream.responses) responses.push(response)
  return responses
}

export async function readOne(stream: Stream): Promise<Json> {
  const { value } = await stream.responses.next()
  if (value === undefined) throw new Error('the stream has ended')
  return value
}

/** Errors of A2A: the code of JSON-RPC and the status of HTTP. A2A 1.0.1 changed the status of some. */
export const ERRORS = {
  TASK_NOT_FOUND: [-32_001, 404],
  TASK_NOT_CANCELABLE: [-32_002, 400],
  PUSH_NOTIFICATION_NOT_SUPPORTED: [-32_003, 400],
  UNSUPPORTED_OPERATION: [-32_004, 400],
  CONTENT_TYPE_NOT_SUPPORTED: [-32_005, 400],
  EXTENDED_AGENT_CARD_NOT_CONFIGURED: [-32_007, 400],
  VERSION_NOT_SUPPORTED: [-32_009, 400],
  INVALID_PARAMS: [-32_602, 400],
} as const

export function expectError(to: Binding, answer: Answer, reason: keyof typeof ERRORS): void {
  const [code, status] = ERRORS[reason]
  const wanted = to.name === 'JSON-RPC' ? { status: 200, code } : { status, code: status }
  const { status: got, error } = answer
  expect({ status: got, code: error?.code, reason: error?.reason }, JSON.stringify(answer.body)).toEqual({
    ...wanted,
    reason,
  })
}
