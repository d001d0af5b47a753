/** Proofs of work that have to be found, and registrations that compete. */
import { createHash } from 'node:crypto'
import type { Case, World } from '../../cases/case.ts'
import { check, expectOutcome } from '../../cases/check.ts'
import { countOutcomes } from '../../cases/steps.ts'
import { Agent, untilAdmitted } from '../../http/agent.ts'
import type { Answer } from '../../http/exchange.ts'

/** Every character that a nonce may have (spec 5.5). */
const ALL = String.fromCharCode(...Array.from({ length: 0x7e - 0x20 }, (_, at) => 0x21 + at))

/** Digits of the number at the end of a nonce, so that the longest has 128 characters. */
const DIGITS = 128 - ALL.length

/** @returns a nonce that begins with the prefix, and whose hash has a number of leading zero bits that is wanted. */
function findNonce(challenge: string, prefix: string, isWanted: (bits: number) => boolean): string {
  for (let counter = 0; ; counter += 1) {
    const nonce = prefix + String(counter).padStart(DIGITS, '0')
    const hash = createHash('sha256').update(`${challenge}:${nonce}`).digest()
    if (isWanted(zeroBitsOf(hash))) return nonce
  }
}

function zeroBitsOf(hash: Uint8Array): number {
  const at = hash.findIndex((byte) => byte !== 0)
  return at < 0 ? hash.length * 8 : at * 8 + Math.clz32(hash[at] ?? 0) - 24
}

function register(agent: Agent, work: { challenge: string; nonce: string }, name = agent.name): Promise<Answer> {
  const { challenge, nonce } = work
  return untilAdmitted(() => agent.post('/v2/agents/register', { name, pubkey: agent.pubkey, challenge, nonce }))
}

function twins(world: World): [Agent, Agent] {
  const first = world.stranger()
  const second = new Agent(world.server, first.name)
  second.observe = world.observe
  return [first, second]
}

export const REGISTRATION_CASES: readonly Case[] = [
  {
    id: 'agents/work/refused',
    title: 'Proofs of work: a nonce with too few zero bits, or with another character or length, is 400 pow_invalid',
    spec: ['5.5', '5.6'],
    needs: [],
    agents: 0,
    async run(world) {
      const agent = world.stranger()
      const { challenge, difficulty } = await agent.solve()
      const enough = (bits: number) => bits >= difficulty
      const wrong = {
        ...(difficulty > 0 && { 'one bit too few': findNonce(challenge, '', (bits) => bits === difficulty - 1) }),
        'a space': findNonce(challenge, ' ', enough),
        'a letter beyond ASCII': findNonce(challenge, 'é', enough),
        'the character 0x7f': findNonce(challenge, '\u007f', enough),
        '129 characters': findNonce(challenge, 'x'.repeat(95), enough),
      }
      for (const [what, nonce] of Object.entries(wrong))
        await expectOutcome(register(agent, { challenge, nonce }), '400 pow_invalid', what)
    },
  },
  {
    id: 'agents/work/long',
    title: 'Proofs of work: a nonce of 128 characters, with every character from 0x21 to 0x7e, is accepted',
    spec: ['5.5', '5.6'],
    needs: [],
    agents: 1,
    async run(world) {
      const agent = world.stranger()
      const { challenge, difficulty } = await agent.solve()
      const nonce = findNonce(challenge, ALL, (bits) => bits >= difficulty)
      await expectOutcome(register(agent, { challenge, nonce }), '201', 'the registration')
    },
  },
  {
    id: 'agents/registration/one-name-at-once',
    title: 'Registration: of two keys that ask for one name at once, one gets it, and the other is 409 name_taken',
    spec: ['5.6', '5.12'],
    needs: [],
    agents: 1,
    async run(world) {
      const agents = twins(world)
      const works = await Promise.all(agents.map((one) => one.solve()))
      const answers = await Promise.all(
        agents.map((one, at) => register(one, works[at] ?? { challenge: '', nonce: '' })),
      )
      check(countOutcomes(answers), { 201: 1, '409 name_taken': 1 }, 'the answers')
      const winner = agents[answers.findIndex(({ status }) => status === 201)]
      const found = await world.anonymous.call('GET', `/v2/agents/${agents[0].name}`)
      check(found.body?.agent_id, winner?.id, 'the owner of the name')
    },
  },
  {
    id: 'agents/registration/one-key-at-once',
    title: 'Registration: of two names that one key asks for at once with one challenge, it gets one',
    spec: ['5.6', '5.4'],
    needs: [],
    agents: 1,
    async run(world) {
      const agent = world.stranger()
      const work = await agent.solve()
      const answers = await Promise.all([agent.name, `${agent.name}-2`].map((name) => register(agent, work, name)))
      check(countOutcomes(answers), { 201: 1, '409 challenge_consumed': 1 }, 'the answers')
    },
  },
]
