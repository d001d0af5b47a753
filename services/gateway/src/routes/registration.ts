import { issueChallenge, registerAgent } from '@svc/contracts/identity.ts'
import { Challenge, ChallengeRequest, Registration, RegistrationResult } from '@svc/contracts/resources.ts'
import type { Bus } from '@svc/nats/bus.ts'
import { EXAMPLES } from '../api/examples.ts'
import { bodyOf, defineOperation, type Operation } from '../api/operation.ts'
import { jsonAnswer } from '../http/answer.ts'

export function registrationRoutes({ bus }: { readonly bus: Bus }): Operation[] {
  return [
    defineOperation({
      id: 'createChallenge',
      method: 'POST',
      path: '/v2/challenges',
      tag: 'Registration',
      summary: 'Ask for a proof-of-work challenge for a key',
      description:
        'The signature is optional. One that is sent must be made with the key in the body, whether it is registered or not.',
      auth: 'optional',
      keyFrom: 'body',
      isRegistration: true,
      body: bodyOf(ChallengeRequest, { key: EXAMPLES.challengeRequest }),
      responses: {
        201: { description: 'A challenge for this key only', schema: Challenge, example: EXAMPLES.challenge },
      },
      errors: ['invalid_pubkey'],
    }).handle(async ({ signer, body, context }) => {
      // If the request is signed, the gateway has already checked the key. Otherwise identity must check it.
      const request = signer === null ? body : { ...body, key_checked: true }
      return jsonAnswer(201, await bus.call(issueChallenge, request, context))
    }),
    defineOperation({
      id: 'registerAgent',
      method: 'POST',
      path: '/v2/agents/register',
      tag: 'Registration',
      summary: 'Register a key under a name',
      description: [
        'Signed by the key being registered. `nonce` is the proof of work: SHA-256 of `<challenge>:<nonce>` begins with',
        '`difficulty` zero bits. Repeating the same registration returns 201 with the same body.',
      ].join(' '),
      auth: 'required',
      keyFrom: 'body',
      allowRevoked: true,
      isRegistration: true,
      body: bodyOf(Registration, { alice: EXAMPLES.registration }),
      responses: {
        201: { description: 'Registered', schema: RegistrationResult, example: EXAMPLES.registrationResult },
      },
      errors: [
        'invalid_pubkey',
        'invalid_name',
        'challenge_invalid',
        'pow_invalid',
        'challenge_consumed',
        'name_taken',
        'key_registered',
      ],
    }).handle(async ({ body, context }) => jsonAnswer(201, await bus.call(registerAgent, body, context))),
  ]
}
