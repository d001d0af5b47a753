/** Prepared requests of a hostile client. Each kind causes work that nobody has paid for. */
import { randomBytes } from 'node:crypto'
import { checkWork } from '@svc/svc1/pow.ts'
import { formatPublicKey } from '@svc/svc1/public-key.ts'
import { type BenchAgent, createBenchAgent, envelopeText, signedRequest } from '../load/bench-agents.ts'
import { requestBytes } from '../load/http-load.ts'

export const FLOODS = [
  'challenges',
  'registrations with wrong work',
  'requests with a wrong signature',
  'health',
  'bodies with 10,900 members',
  'messages to a log that is held',
] as const
export type Flood = (typeof FLOODS)[number]

interface Target {
  readonly url: string
  readonly authority: string
  /** A registered agent that attacks. */
  readonly attacker: BenchAgent
  /** The name of an agent whose log a transaction has locked. */
  readonly held: string
}

const STRANGERS = 20
const MEMBERS = 10_900
const TARGET = '/v2/messages'
const REGISTER = '/v2/agents/register'

/** @returns a function that makes one request after another. */
export async function createFlood(flood: Flood, target: Target): Promise<(index: number) => Buffer> {
  const { authority, attacker, held } = target
  switch (flood) {
    case 'challenges': {
      const bodies = strangers().map(({ publicKey }) => JSON.stringify({ pubkey: formatPublicKey(publicKey) }))
      return (index) =>
        requestBytes({ method: 'POST', target: '/v2/challenges', authority, body: bodies[index % STRANGERS] ?? '' })
    }
    case 'registrations with wrong work': {
      const registrations = await Promise.all(
        strangers().map(async (agent) => [agent, await wrongWork(target, agent)] as const),
      )
      return (index) => {
        const [agent, body] = registrations[index % STRANGERS] ?? [attacker, '']
        return signedRequest(agent, { authority, method: 'POST', target: REGISTER, body })
      }
    }
    case 'requests with a wrong signature':
      return () => {
        const signed = signedRequest(attacker, { authority, method: 'GET', target: '/v2/me' }).toString('latin1')
        return Buffer.from(signed.replace(/:[A-Za-z0-9+/]{86}==/, `:${randomSignature()}`), 'latin1')
      }
    case 'health':
      return () => requestBytes({ method: 'GET', target: '/v2/health', authority })
    case 'bodies with 10,900 members': {
      const members = Object.fromEntries(Array.from({ length: MEMBERS }, (_, at) => [`m${at.toString(36)}`, 0]))
      const envelope = { ...JSON.parse(envelopeText(attacker, `${held}@${authority}`)), body: members }
      const text = JSON.stringify(envelope)
      return () => signedRequest(attacker, { authority, method: 'POST', target: TARGET, body: text })
    }
    case 'messages to a log that is held':
      return () =>
        signedRequest(attacker, {
          authority,
          method: 'POST',
          target: TARGET,
          body: envelopeText(attacker, `${held}@${authority}`),
        })
  }
}

function strangers(): BenchAgent[] {
  return Array.from({ length: STRANGERS }, (_, index) => createBenchAgent(`stranger-${index}`))
}

/** 64 bytes with S below the group order, so that a verifier must do all of its work. */
function randomSignature(): string {
  const bytes = randomBytes(64)
  bytes[63] = 0
  return bytes.toString('base64')
}

async function wrongWork({ url }: Target, agent: BenchAgent): Promise<string> {
  const pubkey = formatPublicKey(agent.publicKey)
  const headers = { 'content-type': 'application/json' }
  const answer = await fetch(`${url}/v2/challenges`, { method: 'POST', headers, body: JSON.stringify({ pubkey }) })
  const { challenge, difficulty } = (await answer.json()) as { challenge: string; difficulty: number }
  let nonce = 0
  while (checkWork(challenge, String(nonce), difficulty)) nonce += 1
  return JSON.stringify({ name: agent.name, pubkey, challenge, nonce: String(nonce) })
}
