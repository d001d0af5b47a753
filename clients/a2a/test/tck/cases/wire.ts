import { expect } from 'vitest'
import { type Answer, type Binding, type Json, Refused } from '../bindings.ts'
import { type Case, ERRORS, expectError, message, newWord, send, taskOf } from '../case.ts'
import { misfits } from '../shapes.ts'

/** Requests that are wrong, and must not be answered as if they were right. */
const MALFORMED: Readonly<Record<string, readonly [operation: string, params: Json]>> = {
  'SendMessage without a message': ['SendMessage', {}],
  'a message without a messageId': ['SendMessage', { message: message('x', { messageId: '' }) }],
  'a message without parts': ['SendMessage', { message: message('x', { parts: [] }) }],
  'a part without content': ['SendMessage', { message: message('x', { parts: [{}] }) }],
  'a message without a role': ['SendMessage', { message: message('complete', { role: undefined }) }],
  'a page of 101 tasks': ['ListTasks', { pageSize: 101 }],
  'a negative historyLength': ['GetTask', { id: 'x', historyLength: -1 }],
  'an unknown state': ['ListTasks', { status: 'TASK_STATE_SLEEPING' }],
}

/** What both bindings must do, and what each must look like. */
export const WIRE_CASES: readonly Case[] = [
  ...Object.entries(MALFORMED).flatMap(([title, [operation, params]]) =>
    (['JSON-RPC', 'HTTP+JSON'] as const).map(
      (binding): Case => ({
        ids: ['CORE-ERR-002'],
        title: `${title} is an error`,
        binding,
        async run(to) {
          const { id } = params.id === 'x' ? await send(to, 'complete') : { id: undefined }
          const answer = await to.call(operation, id === undefined ? params : { ...params, id })
          expectError(to, answer, 'INVALID_PARAMS')
        },
      }),
    ),
  ),
  {
    ids: [
      'CORE-ERR-001',
      'JSONRPC-ERR-001',
      'JSONRPC-ERR-002',
      'JSONRPC-ERR-003',
      'HTTP_JSON-ERR-002',
      'BIND-EQUIV-003',
    ],
    title: 'errors have a code, a text, and an ErrorInfo',
    async run(to) {
      for (const answer of [await to.call('GetTask', { id: newWord() }), await badVersion(to)]) {
        expect(answer.error?.message).toMatch(/\w+ \w+/)
        expect(answer.error?.details).toEqual([
          expect.objectContaining({
            '@type': 'type.googleapis.com/google.rpc.ErrorInfo',
            reason: expect.stringMatching(/^[A-Z_]+$/),
            domain: 'a2a-protocol.org',
          }),
        ])
        expect(Object.keys(ERRORS)).toContain(answer.error?.reason)
      }
    },
  },
  {
    ids: ['JSONRPC-SSE-002'],
    title: 'each error has its code',
    binding: 'JSON-RPC',
    async run(to) {
      const { id } = await send(to, 'complete')
      expectError(to, await to.call('GetTask', { id: newWord() }), 'TASK_NOT_FOUND')
      expectError(to, await to.call('CancelTask', { id }), 'TASK_NOT_CANCELABLE')
      expectError(to, await to.post('text/plain', '{}'), 'CONTENT_TYPE_NOT_SUPPORTED')
      expectError(to, await badVersion(to), 'VERSION_NOT_SUPPORTED')
    },
  },
  {
    ids: ['HTTP_JSON-ERR-001'],
    title: 'an error has the form of AIP-193, and the code is the status',
    binding: 'HTTP+JSON',
    async run(to) {
      const { status, body } = await to.call('GetTask', { id: newWord() })
      expect(body?.error).toEqual({
        code: status,
        status: 'NOT_FOUND',
        message: expect.any(String),
        details: [expect.any(Object)],
      })
    },
  },
  {
    ids: ['HTTP_JSON-STATUS-001'],
    title: 'errors have the status that A2A 1.0.1 gives them',
    binding: 'HTTP+JSON',
    async run(to) {
      const { id } = await send(to, 'complete')
      expectError(to, await to.call('GetTask', { id: newWord() }), 'TASK_NOT_FOUND')
      expectError(to, await to.call('CancelTask', { id }), 'TASK_NOT_CANCELABLE')
      expectError(to, await to.post('text/plain', '{}'), 'CONTENT_TYPE_NOT_SUPPORTED')
      expectError(to, await badVersion(to), 'VERSION_NOT_SUPPORTED')
    },
  },
  {
    ids: ['HTTP_JSON-STATUS-001'],
    title: 'errors have the status that A2A 1.0.0 gave them',
    binding: 'HTTP+JSON',
    fails: '1.0.1 changed 409 and 415 into 400',
    async run(to) {
      const { id } = await send(to, 'complete')
      const statuses = [(await to.call('CancelTask', { id })).status, (await to.post('text/plain', '{}')).status]
      expect(statuses).toEqual([409, 415])
    },
  },
  {
    ids: ['JSONRPC-FMT-001', 'JSONRPC-FMT-002'],
    title: 'an answer is a JSON-RPC response, as application/json',
    binding: 'JSON-RPC',
    async run(to) {
      const answer = await to.call('SendMessage', { message: message('complete') })
      expect(answer.contentType).toContain('application/json')
      expect(answer.body).toEqual({ jsonrpc: '2.0', id: 1, result: expect.any(Object) })
      expect(misfits('SendMessageResponse', answer.result)).toEqual([])
    },
  },
  {
    ids: ['JSONRPC-FMT-001'],
    title: 'a request that is no JSON-RPC 2.0 is an error',
    binding: 'JSON-RPC',
    async run(to) {
      for (const body of ['{', '[]', '{"jsonrpc":"1.0","id":1,"method":"ListTasks","params":{}}'])
        expect((await to.post('application/json', body)).error?.code).toBeLessThanOrEqual(-32_600)
    },
  },
  {
    ids: ['JSONRPC-SVC-001', 'HTTP_JSON-URL-001', 'HTTP_JSON-URL-002', 'BIND-EQUIV-001'],
    title: 'every operation is there, under its name and with its method',
    async run(to) {
      const { id } = await send(to, 'ask')
      const [taskId, config, missing] = [id, { id: newWord(), url: 'https://example.com/hook' }, { id: newWord() }]
      const answers: Record<string, Answer> = {
        GetTask: await to.call('GetTask', { id }),
        ListTasks: await to.call('ListTasks', {}),
        CreateTaskPushNotificationConfig: await to.call('CreateTaskPushNotificationConfig', { taskId, ...config }),
        GetTaskPushNotificationConfig: await to.call('GetTaskPushNotificationConfig', { taskId, id: config.id }),
        ListTaskPushNotificationConfigs: await to.call('ListTaskPushNotificationConfigs', { taskId }),
        DeleteTaskPushNotificationConfig: await to.call('DeleteTaskPushNotificationConfig', { taskId, id: config.id }),
        SendMessage: await to.call('SendMessage', { message: message('complete') }),
      }
      for (const [operation, { error }] of Object.entries(answers)) expect(error, operation).toBeUndefined()
      await using stream = await to.stream('SendStreamingMessage', { message: message('complete') })
      expect(stream.status).toBe(200)
      expectError(to, await to.call('CancelTask', missing), 'TASK_NOT_FOUND')
      await expect(to.stream('SubscribeToTask', missing)).rejects.toBeInstanceOf(Refused)
      const extended = await to.call('GetExtendedAgentCard', {})
      expect(extended.error?.reason).toMatch(/EXTENDED|UNSUPPORTED/)
      expect((await to.call('NoSuchOperation', missing)).status).toBe(to.name === 'JSON-RPC' ? 200 : 404)
    },
  },
  {
    ids: ['BIND-EQUIV-002'],
    title: 'a task is the same over both bindings',
    async run(to, world) {
      const { id } = await send(to, 'artifacts')
      const [one, other] = await Promise.all(
        world.bindingsOf(world.bob).map(async (binding) => taskOf(await binding.call('GetTask', { id }))),
      )
      expect(one).toEqual(other)
    },
  },
  {
    ids: ['HTTP_JSON-SVC-001', 'HTTP_JSON-ERR-001'],
    title: 'answers are application/json',
    binding: 'HTTP+JSON',
    fails: 'they are application/a2a+json, which A2A 1.0.1 prefers',
    async run(to) {
      for (const answer of [await to.call('ListTasks', {}), await to.call('GetTask', { id: newWord() })])
        expect(answer.contentType).toContain('application/json')
    },
  },
  {
    ids: ['HTTP_JSON-SVC-001'],
    title: 'requests may be application/json or application/a2a+json',
    binding: 'HTTP+JSON',
    async run(to) {
      for (const type of ['application/json', 'application/a2a+json'])
        expect((await to.post(type, JSON.stringify({ message: message('complete') }))).status).toBe(200)
    },
  },
  {
    ids: ['JSONRPC-SVC-002', 'HTTP_JSON-SVC-002'],
    title: 'version and extensions are headers, and unknown extensions do no harm',
    async run(to) {
      const extensions = { 'a2a-extensions': 'https://example.com/ext/v1,https://example.com/ext/v2' }
      expect((await to.call('SendMessage', { message: message('complete') }, extensions)).error).toBeUndefined()
    },
  },
  {
    ids: ['HTTP_JSON-QP-001'],
    title: 'parameters of a query are in camelCase',
    binding: 'HTTP+JSON',
    async run(to) {
      const { id, contextId } = await send(to, 'complete')
      const { result } = await to.call('ListTasks', {
        contextId,
        pageSize: 1,
        includeArtifacts: true,
        historyLength: 1,
      })
      expect(result).toMatchObject({ pageSize: 1, tasks: [{ id, artifacts: [{ artifactId: 'result' }] }] })
    },
  },
]

function badVersion(to: Binding): Promise<Answer> {
  return to.call('SendMessage', { message: message('complete') }, { 'a2a-version': '99.0' })
}
