import { expect } from 'vitest'
import { type Case, message, send } from '../case.ts'
import { fieldNames, misfits } from '../shapes.ts'

/** The data model. `misfits` knows every field, which of them must be there, and the values of enums. */
export const DATA_CASES: readonly Case[] = [
  {
    ids: [
      ...['DM-TASK-001', 'DM-TASK-002', 'DM-STATUS-001', 'DM-MSG-002', 'DM-PART-001', 'DM-ART-001'],
      ...['DM-SERIAL-002', 'DM-SERIAL-003', 'DM-SERIAL-004'],
    ],
    title: 'tasks with each kind of part, in each state that a task can rest in, are well formed',
    async run(to) {
      for (const text of ['artifacts', 'ask', 'reject', 'complete']) {
        const task = await send(to, text)
        expect(misfits('Task', task)).toEqual([])
      }
      const { artifacts } = await send(to, 'artifacts')
      expect(artifacts?.flatMap(({ parts }) => parts)).toMatchObject([
        { text: 'text' },
        { raw: 'dGNr', filename: 'output.txt', mediaType: 'text/plain' },
        { url: 'https://example.com/output.txt' },
        { data: { key: 'value', count: 42 } },
      ])
    },
  },
  {
    ids: ['DM-MSG-001'],
    title: 'an answer that is a message is well formed',
    async run(to) {
      const { result } = await to.call('SendMessage', { message: message('message') })
      expect(misfits('SendMessageResponse', result)).toEqual([])
      expect(result?.message).toMatchObject({ role: 'ROLE_AGENT', parts: [{ text: 'Direct answer' }] })
    },
  },
  {
    ids: ['DM-SERIAL-001'],
    title: 'field names are in camelCase, also in metadata',
    async run(to) {
      expect(fieldNames(await send(to, 'artifacts')).filter((name) => name.includes('_'))).toEqual([])
    },
  },
  {
    ids: ['DM-SERIAL-005'],
    title: 'fields that nobody knows are ignored',
    async run(to) {
      const strange = { message: message('complete', { tckUnknownField: 'ignored' }), tckExtraParam: 42 }
      expect((await to.call('SendMessage', strange)).error).toBeUndefined()
    },
  },
]
