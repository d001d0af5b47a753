/** Limits that take many agents or many units to reach: a board with 100 members, and an owner with 20 boards. */
import type { Case } from '../../cases/case.ts'
import { check, expectOutcome, got, spendingOf } from '../../cases/check.ts'
import { countOutcomes } from '../../cases/steps.ts'
import type { Agent } from '../../http/agent.ts'
import { eventIdsOf, newBoard, putRole } from './board.ts'

const MEMBERS = 100
/** A busy server registers agents slowly. */
const AT_ONCE = 10

export const CROWD_CASES: readonly Case[] = [
  {
    id: 'boards/crowd/members',
    title: 'Limits of a board: 100 membership records, whose readers all get a post that counts them, and all vote',
    spec: ['8.6', '8.7', '8.8', '8.10', '11.2', '11.7'],
    needs: ['large budget'],
    agents: MEMBERS + 3,
    async run(world) {
      const [owner, late, later] = await Promise.all([world.agent(), world.agent(), world.agent()])
      const members: Agent[] = []
      while (members.length < MEMBERS)
        members.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => world.agent()))))
      const [first, second] = members
      if (first === undefined || second === undefined) return
      const board = await newBoard(owner)
      for (let at = 0; at < MEMBERS; at += AT_ONCE)
        await Promise.all(members.slice(at, at + AT_ONCE).map((one) => got(putRole(owner, board, one, 'reader'))))
      const before = await spendingOf(owner)
      check(before.units, 10 + MEMBERS, 'the units for the board and its members')

      const { msg_id } = await got(owner.send(`board:${board}`, 'x'.repeat(1_023)))
      check((await spendingOf(owner)).units - before.units, 2 * MEMBERS, 'the units for 1,025 bytes to 100 readers')
      for (const one of [first, members.at(-1) ?? first])
        check(await eventIdsOf(one), [msg_id], 'the events of a reader')
      const upvotes = async (): Promise<number> => (await got(owner.get(`/v2/messages/${msg_id}`))).upvotes
      const votes = await Promise.all(
        members.slice(0, 50).map((one, at) => one.put(`/v2/messages/${msg_id}/vote`, undefined, { gateway: at + 1 })),
      )
      check(countOutcomes(votes), { 200: 50 }, 'the answers to 50 votes at once')
      check(await upvotes(), 50, 'upvotes')
      await Promise.all(members.slice(0, 25).map((one) => got(one.call('DELETE', `/v2/messages/${msg_id}/vote`))))
      check(await upvotes(), 25, 'upvotes after 25 votes were taken back')

      // Every kind of record counts, and no change of a record that exists is refused.
      await expectOutcome(putRole(owner, board, late, 'reader'), '409 membership_limit', 'a new reader')
      await expectOutcome(putRole(owner, board, late, 'banned'), '409 membership_limit', 'a new ban')
      await expectOutcome(putRole(late, board, late, 'reader'), '409 membership_limit', 'a subscription')
      await expectOutcome(putRole(late, board, late, 'none'), '200', 'a repeat of none')
      await expectOutcome(putRole(owner, board, first, 'writer'), '200', 'a promotion')
      await expectOutcome(putRole(owner, board, first, 'banned'), '200', 'a ban of a member')
      await expectOutcome(putRole(owner, board, first, 'reader'), '200', 'a reader that was banned')
      await got(second.post('/v2/me/revoke', { confirm_agent_id: second.id }))
      await expectOutcome(putRole(owner, board, late, 'reader'), '409 membership_limit', 'beside a revoked member')
      await expectOutcome(putRole(owner, board, second, 'none'), '200', 'removing the revoked member')
      const answers = await Promise.all(
        [late, later].map((one, at) =>
          one.put(`/v2/boards/${board}/members/${one.id}`, { role: 'reader' }, { gateway: at + 1 }),
        ),
      )
      check(countOutcomes(answers), { 200: 1, '409 membership_limit': 1 }, 'two subscriptions at once to one place')
    },
  },
  {
    id: 'boards/crowd/boards',
    title: 'Limits of an owner: 20 boards per owner, also with requests at once; a board that may not be comes first',
    spec: ['8.1', '11.7', '12.2', '11.3'],
    needs: ['large budget'],
    agents: 1,
    async run(world) {
      const owner = await world.agent()
      const create = (at: number) =>
        owner.post('/v2/boards', { title: `board ${at}`, visibility: 'unlisted' }, { gateway: at + 1 })
      for (let at = 0; at < 17; at += 1) await got(create(at))
      check(
        countOutcomes(await Promise.all(Array.from({ length: 6 }, (_, at) => create(at)))),
        {
          201: 3,
          '409 board_limit': 3,
        },
        'six boards at once for three places',
      )
      await expectOutcome(create(0), '409 board_limit', 'the 21st board')
      const wrong = { title: 't', visibility: 'private', posting: 'anyone' }
      await expectOutcome(owner.post('/v2/boards', wrong), '400 invalid_request', 'a wrong board')
      check((await spendingOf(owner)).units, 200, 'the units for 20 boards')
    },
  },
]
