import { getBudget } from '@svc/contracts/budget.ts'
import { Budget } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'

export function budgetRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'getBudget',
      method: 'GET',
      path: '/v2/budget',
      tag: 'Budget',
      summary: 'Units, credits and introductions of today',
      description:
        '`resets_at` is the next UTC midnight, when the used numbers become 0. Credits last until they are used.',
      auth: 'required',
      responses: { 200: { description: 'The budget of the UTC day', schema: Budget, example: EXAMPLES.budget } },
    }).handle(async ({ signer, context }) => jsonAnswer(200, await bus.call(getBudget, { agent_id: signer }, context))),
  ]
}
