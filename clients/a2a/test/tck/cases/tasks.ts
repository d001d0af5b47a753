import { expect } from 'vitest'
import type { Binding, Json } from '../bindings.ts'
import { type Case, message, newWord, send, type Task, taskOf } from '../case.ts'
import { misfits } from '../shapes.ts'

interface Page {
  readonly tasks: readonly Task[]
  readonly nextPageToken: string
}

/** ListTasks, and the history of tasks. */
export const TASK_CASES: readonly Case[] = [
  {
    ids: ['CORE-LIST-001', 'AUTH-SCOPE-002', 'AUTH-SCOPE-003'],
    title: 'the tasks of one contact are not seen at the endpoint of another',
    async run(to, world) {
      const { id, contextId } = await send(to, 'complete')
      const [ofBob, ofCarol] = [to, world.bindingsOf(world.carol).find(({ name }) => name === to.name) as Binding]
      expect((await list(ofBob, { contextId })).tasks.map((task) => task.id)).toEqual([id])
      expect((await list(ofCarol, { contextId })).tasks).toEqual([])
      const [hidden, missing] = [
        await ofCarol.call('GetTask', { id }),
        await ofCarol.call('GetTask', { id: newWord() }),
      ]
      expect(hidden.error).toMatchObject({ code: missing.error?.code, reason: missing.error?.reason })
    },
  },
  {
    ids: ['CORE-LIST-002', 'CORE-LIST-003', 'CORE-LIST-004'],
    title: 'pages follow each other, newest task first, and the last has an empty token',
    async run(to) {
      const contextId = newWord()
      const ids: string[] = []
      for (let at = 0; at < 3; at += 1) ids.unshift((await send(to, 'complete', { contextId })).id)
      const first = await list(to, { contextId, pageSize: 2 })
      const second = await list(to, { contextId, pageSize: 2, pageToken: first.nextPageToken })
      expect([...first.tasks, ...second.tasks].map(({ id }) => id)).toEqual(ids)
      expect([first.tasks.length, second.nextPageToken]).toEqual([2, ''])
      expect(misfits('ListTasksResponse', second)).toEqual([])
    },
  },
  {
    ids: ['CORE-LIST-005'],
    title: 'a list has artifacts only for includeArtifacts',
    async run(to) {
      const { contextId } = await send(to, 'complete')
      for (const includeArtifacts of [undefined, false, true]) {
        const wanted = includeArtifacts === undefined ? {} : { includeArtifacts }
        const [task] = (await list(to, { contextId, ...wanted })).tasks
        expect('artifacts' in (task ?? {})).toBe(includeArtifacts === true)
      }
    },
  },
  {
    ids: ['CORE-HIST-001', 'CORE-HIST-002'],
    title: 'GetTask returns at most historyLength messages',
    async run(to) {
      const { id } = await conversation(to)
      for (const historyLength of [0, 1]) {
        const { history = [] } = taskOf(await to.call('GetTask', { id, historyLength }))
        expect(history.length).toBe(historyLength)
      }
    },
  },
  {
    ids: ['CORE-HIST-003'],
    title: 'SendMessage with historyLength 0 returns no history',
    async run(to) {
      const { id: taskId } = await send(to, 'ask')
      expect((await send(to, 'complete', { taskId }, { historyLength: 0 })).history ?? []).toEqual([])
    },
  },
  {
    ids: ['CORE-HIST-004', 'CORE-HIST-005', 'CORE-HIST-006'],
    title: 'the history has each message once, in their order, with their text',
    async run(to) {
      const { id } = await conversation(to)
      const { history = [] } = taskOf(await to.call('GetTask', { id, historyLength: 10 }))
      expect(history.filter(({ role }) => role === 'ROLE_USER').map(({ parts }) => parts)).toEqual([
        [{ text: 'ask one' }],
        [{ text: 'ask two' }],
        [{ text: 'complete three' }],
      ])
    },
  },
  {
    ids: ['CORE-HIST-006'],
    title: 'the history has the message of the client with its ids',
    async run(to) {
      const sent = message('complete')
      const task = taskOf(await to.call('SendMessage', { message: sent }))
      const { id: taskId, contextId, history = [] } = task
      expect(history[0]).toMatchObject({ messageId: sent.messageId, taskId, contextId })
    },
  },
]

async function list(to: Binding, params: Json): Promise<Page> {
  return (await to.call('ListTasks', params)).result as unknown as Page
}

async function conversation(to: Binding): Promise<Task> {
  const { id: taskId } = await send(to, 'ask one')
  await send(to, 'ask two', { taskId })
  return send(to, 'complete three', { taskId })
}
