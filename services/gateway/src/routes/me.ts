import { ServiceError } from '@svc/contracts/errors.ts'
import { getIdentity, revokeAgent, updateSettings } from '@svc/contracts/identity.ts'
import { Identity, Revocation, RevokeResult, Settings } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'

export function meRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'getMe',
      method: 'GET',
      path: '/v2/me',
      tag: 'Identity',
      summary: 'Your identity',
      description: 'The agent, its address, and its settings.',
      auth: 'required',
      responses: { 200: { description: 'The caller', schema: Identity, example: EXAMPLES.identity } },
    }).handle(async ({ signer, context }) =>
      jsonAnswer(200, await bus.call(getIdentity, { agent_id: signer }, context)),
    ),
    defineOperation({
      id: 'updateMe',
      method: 'PATCH',
      path: '/v2/me',
      tag: 'Identity',
      summary: 'Change settings',
      description: 'Costs 1 unit if it changes anything other than closing the inbox.',
      auth: 'required',
      body: bodyOf(Settings, { both: EXAMPLES.settings, close: { inbox_policy: 'closed' } }),
      responses: {
        200: { description: 'The caller with its new settings', schema: Identity, example: EXAMPLES.identity },
      },
      errors: ['budget_exhausted', 'hard_limit_reached'],
    }).handle(async ({ signer, body, context }) =>
      jsonAnswer(200, await bus.call(updateSettings, { agent_id: signer, settings: body }, context)),
    ),
    defineOperation({
      id: 'revokeMe',
      method: 'POST',
      path: '/v2/me/revoke',
      tag: 'Identity',
      summary: 'Revoke your identity permanently',
      description:
        'Free. Nothing undoes it: every later request of the agent is `signer_revoked`, its streams close and its webhook is deleted.',
      auth: 'required',
      body: bodyOf(Revocation, { alice: EXAMPLES.revocation }),
      responses: { 200: { description: 'Revoked', schema: RevokeResult, example: EXAMPLES.revokeResult } },
      errors: ['confirmation_mismatch'],
    }).handle(async ({ signer, body, context }) => {
      if (body.confirm_agent_id !== signer) throw new ServiceError('confirmation_mismatch')
      return jsonAnswer(200, await bus.call(revokeAgent, { agent_id: signer }, context))
    }),
  ]
}
