/** What is wrong with the signature of a request (spec 3.2 to 3.8), in words that help to find the mistake. */
import { createHash } from 'node:crypto'
import { agentIdOf } from '@svc/svc1/agent-id.ts'
import { parseAuthorization, parseNonce, parseTimestamp } from '@svc/svc1/headers.ts'
import { decodePublicKeyText } from '@svc/svc1/public-key.ts'
import { signedString } from '@svc/svc1/signed-string.ts'
import { verifySignature } from '@svc/svc1/verify.ts'
import { AUTHORITY, REGISTERED } from './cast.ts'

interface SignedParts {
  readonly method: string
  /** As it stands in the request line. */
  readonly target: string
  readonly body: Buffer
  /** Each header's values, by name in lower case. */
  readonly headers: Readonly<Record<string, readonly string[] | undefined>>
  /** The authority in the URL that the client was given. */
  readonly urlAuthority: string
}

export interface Authentication {
  readonly agentId: string
  readonly timestamp: number
  /** In lower case, because nonces are compared by their bytes (spec 3.7). */
  readonly nonce: string
  readonly signedString: string
  /** Undefined if the signature is good. */
  readonly fault: string | undefined
}

/** @returns a text that says which header is malformed. */
export function authenticate(request: SignedParts): Authentication | string {
  const [authorization, timestamp, nonce] = ['authorization', 'x-svc-timestamp', 'x-svc-nonce'].map((name) => {
    const values = request.headers[name] ?? []
    return values.length === 1 ? values[0] : undefined
  })
  const parsed = parseAuthorization(authorization ?? '')
  if (parsed === undefined) return 'Authorization must be there once, as SVC <agent id>:<base64 of 64 bytes>'
  if (timestamp === undefined || parseTimestamp(timestamp) === undefined)
    return 'X-SVC-Timestamp must be there once, in Unix seconds'
  if (nonce === undefined || parseNonce(nonce) === undefined)
    return 'X-SVC-Nonce must be there once, as 32 to 128 hexadecimal digits'
  const { agentId, signature } = parsed
  const publicKey = keyOf(agentId, request.body)
  const parts = {
    authority: AUTHORITY,
    method: request.method,
    target: request.target,
    timestamp,
    nonce,
    bodySha256Hex: sha256Hex(request.body),
  }
  const fits = (changes: Partial<typeof parts>): boolean =>
    publicKey !== undefined &&
    verifySignature(signature, Buffer.from(signedString({ ...parts, ...changes })), publicKey)
  const mistakes: [string, Partial<typeof parts>][] = [
    [`it names the authority of the URL, ${request.urlAuthority}, in line 2`, { authority: request.urlAuthority }],
    ['it leaves out the query in line 4', { target: request.target.split('?')[0] ?? '' }],
    ['line 4 is the decoded path and query, not what is sent', { target: decoded(request.target) }],
    ['it leaves out the body in line 7', { bodySha256Hex: sha256Hex(Buffer.alloc(0)) }],
    ['line 6 has the nonce in another case than the header', { nonce: nonce.toLowerCase() }],
  ]
  const mistake = mistakes.find(([, changes]) => fits(changes))?.[0]
  return {
    agentId,
    timestamp: Number(timestamp),
    nonce: nonce.toLowerCase(),
    signedString: signedString(parts),
    fault: fits({}) ? undefined : `the signature is not good for the seven lines${mistake ? `: ${mistake}` : ''}`,
  }
}

/** The key of a registered agent, or the one in the body whose id it is (spec 3.8). */
function keyOf(agentId: string, body: Buffer): Uint8Array | undefined {
  const registered = REGISTERED.find((one) => one.agentId === agentId)
  if (registered !== undefined) return registered.publicKey
  try {
    const named = decodePublicKeyText(String(JSON.parse(body.toString()).pubkey))
    return named !== undefined && agentIdOf(named) === agentId ? named : undefined
  } catch {
    return undefined
  }
}

function decoded(target: string): string {
  try {
    return decodeURIComponent(target)
  } catch {
    return target
  }
}

function sha256Hex(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}
