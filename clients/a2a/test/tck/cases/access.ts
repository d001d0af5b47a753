import { expect } from 'vitest'
import { ROUTES } from '../bindings.ts'
import { type Case, expectError, message } from '../case.ts'

/** Who may call, which version is spoken, and what is not offered. */
export const ACCESS_CASES: readonly Case[] = [
  {
    ids: ['AUTH-SERVER-002', 'AUTH-SCOPE-001', 'BIND-EQUIV-004'],
    title: 'every operation wants the token that the card asks for',
    async run(to, world) {
      for (const authorization of ['', 'Bearer wrong', `Basic ${'x'.repeat(40)}`])
        for (const operation of Object.keys(ROUTES)) {
          const { status } = await to.call(operation, { id: 'x', taskId: 'x' }, { authorization })
          expect([operation, status]).toEqual([operation, 401])
        }
      const card = await fetch(`${world.url}/${world.bob}/.well-known/agent-card.json`)
      expect(card.status).toBe(401)
    },
  },
  {
    ids: ['AUTH-SCOPE-003'],
    title: 'an agent that is no contact looks like one that does not exist',
    async run(to, world) {
      const statuses = await Promise.all(
        [world.dave, 'nobody-has-this-name'].map(async (name) => {
          const binding = world.bindingsOf(name).find((one) => one.name === to.name)
          return (await binding?.call('ListTasks', {}))?.status
        }),
      )
      expect(statuses).toEqual([404, 404])
    },
  },
  {
    ids: ['CORE-CAP-003'],
    title: 'GetExtendedAgentCard is not supported',
    async run(to) {
      expectError(to, await to.call('GetExtendedAgentCard', {}), 'UNSUPPORTED_OPERATION')
    },
  },
  {
    ids: ['VER-SERVER-001'],
    title: 'version 1.0 is spoken',
    async run(to) {
      const { result } = await to.call('SendMessage', { message: message('complete') }, { 'a2a-version': '1.0' })
      expect(result?.task).toMatchObject({ status: { state: 'TASK_STATE_COMPLETED' } })
    },
  },
  {
    ids: ['VER-SERVER-002', 'VER-SERVER-003'],
    title: 'other versions are refused, and no version means 0.3',
    async run(to) {
      for (const version of ['99.0', '0.3', ''])
        expectError(
          to,
          await to.call('SendMessage', { message: message('complete') }, { 'a2a-version': version }),
          'VERSION_NOT_SUPPORTED',
        )
    },
  },
  {
    ids: ['VER-CLIENT-002'],
    title: 'a patch number in the version does not matter',
    async run(to) {
      const { error } = await to.call('SendMessage', { message: message('complete') }, { 'a2a-version': '1.0.1' })
      expect(error).toBeUndefined()
    },
  },
]
