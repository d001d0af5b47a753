/**
 * The parts that the floors share. Environment: FLOOR_AUTHORITY, FLOOR_KEYS (JSON: agent id → public key in hex), FLOOR_ENGINE
 * (`libsodium`, as in the system if it can be loaded, or `node:crypto`).
 */
import { createHash } from 'node:crypto'
import { parseAuthorization } from '@svc/svc1/headers.ts'
import { ENGINE, NODE_ENGINE } from '@svc/svc1/node/engine.ts'
import { importPublicKey, type VerifyKey, verifyRequestNode } from '@svc/svc1/node/verify-node.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import Fastify, { type FastifyInstance, type FastifyRequest } from 'fastify'

const engine = process.env.FLOOR_ENGINE === 'libsodium' ? ENGINE : NODE_ENGINE
const keys = new Map<string, VerifyKey>(
  Object.entries(JSON.parse(process.env.FLOOR_KEYS ?? '{}') as Record<string, string>).map(([id, hex]) => [
    id,
    importPublicKey(Buffer.from(hex, 'hex'), engine),
  ]),
)

/** A server that reads bodies as bytes. */
export function createFloor(): FastifyInstance {
  const app = Fastify()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body, done) => done(null, body))
  return app
}

/** The agent whose signature the request has; undefined if it has none. */
export function signerOf({ headers, method, raw }: FastifyRequest, body: Buffer): string | undefined {
  const authorization = parseAuthorization(headers.authorization ?? '')
  const key = keys.get(authorization?.agentId ?? '')
  if (authorization === undefined || key === undefined) return undefined
  const signed = signedString({
    authority: process.env.FLOOR_AUTHORITY ?? '',
    method,
    target: raw.url ?? '',
    timestamp: String(headers['x-svc-timestamp']),
    nonce: String(headers['x-svc-nonce']),
    bodySha256Hex: createHash('sha256').update(body).digest('hex'),
  })
  return verifyRequestNode(authorization.signature, Buffer.from(signed), key) ? authorization.agentId : undefined
}

/** Listens, and prints the port. */
export async function listen(app: FastifyInstance): Promise<void> {
  await app.listen({ host: '127.0.0.1', port: 0 })
  const address = app.server.address()
  process.stdout.write(`${typeof address === 'object' ? address?.port : address}\n`)
  process.on('SIGTERM', () => process.exit(0))
}
