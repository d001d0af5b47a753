/** Budgets under requests at once, and grants that are refused. */
import type { Case } from '../../cases/case.ts'
import { answered, check, got, spendingOf } from '../../cases/check.ts'
import { countOutcomes } from '../../cases/steps.ts'

export const BUDGET_CASES: readonly Case[] = [
  {
    id: 'agents/spending/units-at-once',
    title: 'Exhausted budgets: of 15 DMs at once over all gateways, 10 are accepted for 10 free units',
    spec: ['11.3', '11.7', '11.1'],
    needs: ['small budget'],
    agents: 2,
    async run(world) {
      const [alice, open] = await Promise.all([world.agent(), world.agent()])
      await got(open.patch('/v2/me', { inbox_policy: 'open' }))
      const answers = await Promise.all(
        Array.from({ length: 15 }, (_, at) => {
          const envelope = alice.envelope(open)
          return answered(() => alice.post('/v2/messages', envelope, { gateway: at + 1 }))
        }),
      )
      // A retry after 503 finds its message, if the first attempt sent it.
      const sent = answers.filter(({ status }) => status === 202 || status === 200)
      check(sent.length, 10, 'the number of DMs')
      check(countOutcomes(answers.filter((one) => !sent.includes(one))), { '429 budget_exhausted': 5 }, 'the others')
      check(await spendingOf(alice), { units: 10, introductions: 1, credits: 0 }, 'the budget')
    },
  },
  {
    id: 'agents/spending/introductions-at-once',
    title: 'Exhausted budgets: of 8 DMs at once to strangers, 5 are accepted for 5 introductions',
    spec: ['11.5', '11.7'],
    needs: ['small budget'],
    agents: 9,
    async run(world) {
      const [alice, ...strangers] = await Promise.all(Array.from({ length: 9 }, () => world.agent()))
      if (alice === undefined) return
      const answers = await Promise.all(
        strangers.map((stranger, at) => {
          const envelope = alice.envelope(stranger)
          return answered(() => alice.post('/v2/messages', envelope, { gateway: at + 1 }))
        }),
      )
      const sent = answers.filter(({ status }) => status === 202 || status === 200)
      check(sent.length, 5, 'the number of DMs')
      const others = answers.filter((one) => !sent.includes(one))
      check(countOutcomes(others), { '429 introduction_limit_reached': 3 }, 'the others')
      check(await spendingOf(alice), { units: 5, introductions: 5, credits: 0 }, 'the budget')
    },
  },
  {
    id: 'agents/credits/other-values',
    title: 'Credits: a grant that reuses a reference with another number or another agent is refused',
    spec: ['11.4'],
    needs: ['operator'],
    agents: 2,
    async run(world) {
      const [alice, bob] = await Promise.all([world.agent(), world.agent()])
      const grant = (id: string, units: string) =>
        world.operator.run('grant', id, units, `once-${alice.id}`, '--reason', 'a test')
      const refused = (id: string, units: string) =>
        grant(id, units).then(
          () => 'granted',
          () => 'refused',
        )
      await grant(alice.id, '5')
      check(await refused(alice.id, '6'), 'refused', 'a grant of another number')
      check(await refused(bob.id, '5'), 'refused', 'a grant to another agent')
      check((await spendingOf(alice)).credits, 5, 'the credits')
      check((await spendingOf(bob)).credits, 0, 'the credits of the other agent')
    },
  },
]
