import { eventually } from '@svc/test/support/eventually.ts'
import { expect } from 'vitest'
import type { Binding, Json } from '../bindings.ts'
import { type Case, expectError, newWord, send, taskOf } from '../case.ts'
import { misfits } from '../shapes.ts'

const URL = 'https://example.com/tck-push-webhook'

export const PUSH_CASES: readonly Case[] = [
  {
    ids: ['PUSH-CREATE-001', 'PUSH-CREATE-002', 'PUSH-GET-001'],
    title: 'a configuration is kept, and is read as it was made',
    async run(to) {
      const { taskId, config } = await configured(to)
      const made = (await to.call('CreateTaskPushNotificationConfig', { taskId, ...config })).result
      expect(misfits('TaskPushNotificationConfig', made)).toEqual([])
      await send(to, 'ask again', { taskId })
      const read = await to.call('GetTaskPushNotificationConfig', { taskId, id: config.id })
      expect(read.result).toEqual({ taskId, ...config })
    },
  },
  {
    ids: ['PUSH-CREATE-001'],
    title: 'a configuration without an id gets one',
    async run(to) {
      const { id: taskId } = await send(to, 'ask')
      const { result } = await to.call('CreateTaskPushNotificationConfig', { taskId, url: URL })
      expect(result).toMatchObject({ taskId, id: expect.stringMatching(/./) })
    },
  },
  {
    ids: ['PUSH-GET-002'],
    title: 'a configuration that does not exist is not found',
    async run(to) {
      const { taskId } = await configured(to)
      expectError(to, await to.call('GetTaskPushNotificationConfig', { taskId, id: newWord() }), 'TASK_NOT_FOUND')
    },
  },
  {
    ids: ['PUSH-LIST-001'],
    title: 'the list has all configurations of the task',
    async run(to) {
      const { taskId, config } = await configured(to)
      const other = { id: newWord(), url: URL }
      await to.call('CreateTaskPushNotificationConfig', { taskId, ...other })
      const { result } = await to.call('ListTaskPushNotificationConfigs', { taskId })
      expect(result?.configs).toEqual([
        { taskId, ...config },
        { taskId, ...other },
      ])
    },
  },
  {
    ids: ['PUSH-DEL-001', 'PUSH-DEL-002'],
    title: 'a deleted configuration is gone, and may be deleted again',
    async run(to) {
      const { taskId, config } = await configured(to)
      for (let times = 0; times < 2; times += 1)
        expect((await to.call('DeleteTaskPushNotificationConfig', { taskId, id: config.id })).error).toBeUndefined()
      const read = await to.call('GetTaskPushNotificationConfig', { taskId, id: config.id })
      expect(read.error).toBeDefined()
    },
  },
  {
    ids: ['PUSH-DELIVER-001', 'PUSH-DELIVER-002', 'PUSH-DELIVER-003'],
    title: 'a webhook gets each update with the credentials that the client gave',
    async run(to, { receiver }) {
      const path = `/${newWord()}`
      const config = {
        url: receiver.urlFor(path),
        token: 'token-of-the-task',
        authentication: { scheme: 'Bearer', credentials: 'secret-of-the-client' },
      }
      const { id: taskId } = await send(to, 'ask', {}, { taskPushNotificationConfig: config })
      await send(to, 'complete', { taskId })
      const last = await eventually(
        () => receiver.at(path).find(({ body }) => `${body}`.includes('COMPLETED')) ?? false,
      )
      expect(last.headers.authorization).toBe('Bearer secret-of-the-client')
      expect(misfits('StreamResponse', JSON.parse(`${last.body}`))).toEqual([])
    },
  },
]

/** A task that rests, with a configuration. */
async function configured(to: Binding): Promise<{ taskId: string; config: Json }> {
  const { id: taskId } = await send(to, 'ask')
  const config = {
    id: newWord(),
    url: URL,
    token: 'token',
    authentication: { scheme: 'Bearer', credentials: 'secret' },
  }
  taskOf(await to.call('CreateTaskPushNotificationConfig', { taskId, ...config }))
  return { taskId, config }
}
