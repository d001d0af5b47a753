import { setTimeout as sleep } from 'node:timers/promises'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect } from 'vitest'
import type { Binding } from '../bindings.ts'
import { type Case, expectError, message, newWord, send, type Task, taskOf, untilState } from '../case.ts'
import { misfits } from '../shapes.ts'

/** Far more than a call takes that returns, and far less than the sidecar's `--wait`. */
const RETURNS_MS = 5_000

export const CORE_CASES: readonly Case[] = [
  {
    ids: ['CORE-SEND-001'],
    title: 'SendMessage returns a task or a message',
    async run(to) {
      for (const text of ['complete', 'message']) {
        const { result } = await to.call('SendMessage', { message: message(text) })
        expect(misfits('SendMessageResponse', result)).toEqual([])
      }
    },
  },
  {
    ids: ['CORE-SEND-002'],
    title: 'a task that has ended takes no messages',
    async run(to) {
      for (const text of ['complete', 'reject']) {
        const { id: taskId } = await send(to, text)
        expectError(to, await to.call('SendMessage', { message: message('more', { taskId }) }), 'UNSUPPORTED_OPERATION')
      }
    },
  },
  {
    ids: ['CORE-SEND-003'],
    title: 'a media type that the agent does not take is an error',
    fails: 'the agent decides after SendMessage was accepted, so the task is REJECTED instead',
    async run(to) {
      const parts = [{ raw: 'dGNr', mediaType: 'application/x-unsupported-tck-type' }]
      expectError(to, await to.call('SendMessage', { message: message('', { parts }) }), 'CONTENT_TYPE_NOT_SUPPORTED')
    },
  },
  {
    ids: ['CORE-GET-001'],
    title: 'GetTask returns the task as it is',
    async run(to) {
      const { id } = await send(to, 'complete')
      const task = taskOf(await to.call('GetTask', { id }))
      expect(task).toMatchObject({
        id,
        status: { state: 'TASK_STATE_COMPLETED' },
        artifacts: [{ artifactId: 'result' }],
      })
    },
  },
  ...['GetTask', 'CancelTask'].map((operation) => ({
    ids: [operation === 'GetTask' ? 'CORE-GET-002' : 'CORE-CANCEL-003'],
    title: `${operation} does not find a task that does not exist`,
    run: async (to: Binding) => expectError(to, await to.call(operation, { id: newWord() }), 'TASK_NOT_FOUND'),
  })),
  {
    ids: ['CORE-CANCEL-001'],
    title: 'CancelTask returns the canceled task: one that is worked on',
    async run(to) {
      const { id } = await send(to, `hold ${newWord()}`, {}, { returnImmediately: true })
      await untilState(to, id, 'WORKING')
      expect(taskOf(await to.call('CancelTask', { id }))).toMatchObject({
        id,
        status: { state: 'TASK_STATE_CANCELED' },
      })
    },
  },
  {
    ids: ['CORE-CANCEL-001'],
    title: 'CancelTask returns the canceled task: one that waits for input',
    async run(to) {
      const { id } = await send(to, 'ask')
      expect(taskOf(await to.call('CancelTask', { id }))).toMatchObject({
        id,
        status: { state: 'TASK_STATE_CANCELED' },
      })
    },
  },
  {
    ids: ['CORE-CANCEL-002'],
    title: 'a task that has ended cannot be canceled',
    async run(to) {
      const { id } = await send(to, 'complete')
      expectError(to, await to.call('CancelTask', { id }), 'TASK_NOT_CANCELABLE')
    },
  },
  {
    ids: ['CORE-EXECUTION-MODE-001'],
    title: 'SendMessage waits for the end, or for a state that asks for input',
    async run(to) {
      expect((await send(to, 'complete')).status.state).toBe('TASK_STATE_COMPLETED')
      expect((await send(to, 'ask', {}, { returnImmediately: false })).status.state).toBe('TASK_STATE_INPUT_REQUIRED')
    },
  },
  {
    ids: ['CORE-EXECUTION-MODE-001'],
    title: 'SendMessage returns when the agent asks for a login',
    async run(to, { agent }) {
      const word = newWord()
      const sent = send(to, `auth ${word}`, { contextId: word })
      try {
        await untilListed(to, word, 'AUTH_REQUIRED')
        const answer = await Promise.race([sent, sleep(RETURNS_MS)])
        expect((answer as Task | undefined)?.status.state).toBe('TASK_STATE_AUTH_REQUIRED')
      } finally {
        agent.release(word)
        await sent
      }
    },
  },
  {
    ids: ['CORE-EXECUTION-MODE-001'],
    title: 'SendMessage to a task that asks for a login waits for what comes of the message',
    async run(to, { agent }) {
      const word = newWord()
      const { id: taskId } = await send(to, `auth ${word}`, {}, { returnImmediately: true })
      await untilState(to, taskId, 'AUTH_REQUIRED')
      const { status } = await send(to, 'complete', { taskId })
      agent.release(word)
      expect(status.state).toBe('TASK_STATE_COMPLETED')
    },
  },
  {
    ids: ['CORE-EXECUTION-MODE-002'],
    title: 'with returnImmediately, SendMessage does not wait',
    async run(to, { agent }) {
      const word = newWord()
      const { id, status } = await send(to, `hold ${word}`, {}, { returnImmediately: true })
      expect(status.state).toMatch(/SUBMITTED|WORKING/)
      agent.release(word)
      await untilState(to, id, 'COMPLETED')
    },
  },
  {
    ids: ['CORE-MULTI-001', 'CORE-MULTI-001a'],
    title: 'a task without a contextId gets one',
    async run(to) {
      expect((await send(to, 'complete')).contextId).toBeTruthy()
    },
  },
  {
    ids: ['CORE-MULTI-002'],
    title: "a client's contextId is kept",
    async run(to) {
      const contextId = newWord()
      expect((await send(to, 'complete', { contextId })).contextId).toBe(contextId)
    },
  },
  {
    ids: ['CORE-MULTI-003'],
    title: 'each new task has an id of its own',
    async run(to) {
      const tasks = await Promise.all([1, 2, 3].map(() => send(to, 'complete')))
      expect(new Set(tasks.map(({ id }) => id)).size).toBe(3)
    },
  },
  {
    ids: ['CORE-MULTI-004'],
    title: 'a message to a task that does not exist is an error',
    async run(to) {
      const taskId = newWord()
      expectError(to, await to.call('SendMessage', { message: message('complete', { taskId }) }), 'TASK_NOT_FOUND')
    },
  },
  {
    ids: ['CORE-MULTI-005'],
    title: 'a message with a taskId alone belongs to the context of the task',
    async run(to) {
      const { id: taskId, contextId } = await send(to, 'ask')
      expect(await send(to, 'complete', { taskId })).toMatchObject({ id: taskId, contextId })
    },
  },
  {
    ids: ['CORE-MULTI-006'],
    title: 'a contextId that is not that of the task is an error',
    async run(to) {
      const { id: taskId } = await send(to, 'ask')
      const mixed = message('complete', { taskId, contextId: newWord() })
      expect((await to.call('SendMessage', { message: mixed })).error).toBeDefined()
    },
  },
]

async function untilListed(to: Binding, contextId: string, state: string): Promise<void> {
  await eventually(async () => {
    const { tasks } = (await to.call('ListTasks', { contextId })).result as { tasks: Task[] }
    return tasks.some(({ status }) => status.state === `TASK_STATE_${state}`)
  })
}
