/** Signatures that libraries disagree about (spec 3.4), made for a request of a living agent. */
import { createHash, randomBytes } from 'node:crypto'
import { ORDER, Point } from '@svc/svc1/ed25519.ts'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import type { Case } from '../../cases/case.ts'
import { expectOutcome } from '../../cases/check.ts'
import { vectorsOf } from '../../cases/load.ts'
import { shareAgent } from '../shared.ts'

type Sign = (message: Buffer, key: KeyPair) => Buffer

const agentOf = shareAgent()

/** A signature by the rule of Ed25519 whose R is given, with an S that fits the equation up to the part of R that has small order. */
function signedWith(r: bigint, rBytes: Uint8Array, addToS = 0n): Sign {
  return (message, { secretKey, publicKey }) => {
    const k = numberOf(createHash('sha512').update(rBytes).update(publicKey).update(message).digest())
    return Buffer.concat([rBytes, bytesOf(((r + k * scalarOf(secretKey)) % ORDER) + addToS)])
  }
}

/** The secret scalar of RFC 8032, 5.1.5. */
function scalarOf(secretKey: Uint8Array): bigint {
  const half = createHash('sha512').update(secretKey).digest().subarray(0, 32)
  half[0] = (half[0] ?? 0) & 0xf8
  half[31] = ((half[31] ?? 0) & 0x7f) | 0x40
  return numberOf(half)
}

function numberOf(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).reverse().toString('hex')}`)
}

function bytesOf(number: bigint): Buffer {
  return Buffer.from(number.toString(16).padStart(64, '0'), 'hex').reverse()
}

const r = numberOf(randomBytes(32)) % ORDER
const R = Point.BASE.multiply(r)
const ofSmallOrder = vectorsOf('signatures.json cases').filter(({ about }) => /^R (the|of small)/.test(String(about)))
const point = Point.fromHex(String(vectorsOf('agent-ids.json refused_public_keys')[3]?.public_key))

const SIGNATURES: readonly (readonly [about: string, outcome: string, sign: Sign])[] = [
  ['a good signature', '200', signedWith(r, R.toBytes())],
  ['S + L', '401 signature_invalid', signedWith(r, R.toBytes(), ORDER)],
  ['S + 8 L', '401 signature_invalid', signedWith(r, R.toBytes(), 8n * ORDER)],
  ['R of mixed order', '401 signature_invalid', signedWith(r, R.add(point).toBytes())],
  ['zeros', '401 signature_invalid', () => Buffer.alloc(64)],
  ...ofSmallOrder.map(({ about, signature }): [string, string, Sign] => [
    String(about),
    '401 signature_invalid',
    signedWith(0n, Buffer.from(String(signature), 'hex').subarray(0, 32)),
  ]),
]

export const VERDICTS: readonly Case[] = SIGNATURES.map(([about, outcome, sign], at) => ({
  id: `requests/verdicts/${at + 1}`,
  title: `Verdicts on request signatures: ${about} is ${outcome}`,
  spec: ['3.4'],
  needs: [],
  agents: 0,
  async run(world) {
    const agent = await agentOf(world)
    const parts = { timestamp: Math.floor(Date.now() / 1_000), nonce: randomBytes(16).toString('hex') }
    const { signedString } = agent.sign('GET', '/v2/me', undefined, parts)
    const signature = sign(Buffer.from(signedString), agent.key).toString('base64')
    const headers = { authorization: `SVC ${agent.id}:${signature}` }
    await expectOutcome(agent.get('/v2/me', { sign: parts, headers }), outcome, 'GET /v2/me')
  },
}))
