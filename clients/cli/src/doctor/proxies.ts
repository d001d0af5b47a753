/** Checks of the proxies between this machine and the service (docs/operating/proxies.md). */
import { BlockList, isIP } from 'node:net'
import type { KeyPair } from '@svc/svc1/key-pair.ts'
import { signRequest } from '@svc/svc1/sign.ts'
import { type Finding, failed, ok, skipped, warning } from './findings.ts'

const LIMIT_MS = 10_000
/** A stream begins with a frame that the service sends at once. */
const FIRST_FRAME_MS = 5_000
/** RFC 5737: no client has this address. */
const INVENTED = '192.0.2.1'
/** Proxies like to decode, merge and resolve these. The path names nothing. */
const TARGET = '/v2/doctor%2Fa//b/%2e%2e%2Fc?d=%2F&&e'

const PRIVATE = new BlockList()
for (const [net, bits] of [
  ['10.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of [
  ['fc00::', 7],
  ['fe80::', 10],
  ['::1', 128],
] as const)
  PRIVATE.addSubnet(net, bits, 'ipv6')

export interface Signer {
  readonly key: KeyPair
  readonly authority: string
}

/** Whether the service counts requests for their client: with a proxy that passes on what a client writes, anybody can invent an address. */
export async function clientAddress({ origin, hostname }: URL, signal: AbortSignal): Promise<Finding> {
  const check = 'client'
  const ask = async (headers: Record<string, string>): Promise<string | null> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
    const answer = await fetch(`${origin}/v2/health`, { headers, signal: limit, redirect: 'manual' })
    await answer.body?.cancel()
    return answer.headers.get('x-svc-client-address')
  }
  const seen = await ask({})
  if (seen === null) return skipped(check, 'the service does not say which address it counts')
  const isHere = ['localhost', '[::1]'].includes(hostname) || hostname.startsWith('127.')
  if ((await ask({ 'x-forwarded-for': INVENTED })) === INVENTED) {
    const says = 'the service believes the X-Forwarded-For that its clients send, so anybody can avoid the rates'
    if (isHere)
      return warning(
        check,
        `${says}: this is right only if this machine is in SVC_TRUSTED_PROXIES and no proxy is in between`,
      )
    return failed(check, `${says}: let the proxy in front of the gateways set this header to the address of its client`)
  }
  const address = seen.replace(/^::ffff:(?=\d+\.)/, '')
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (isHere || isIP(address) === 0 || !PRIVATE.check(address, family)) return ok(check, `requests count for ${seen}`)
  const says = `requests count for ${seen}, a private address: if it is not this machine's, it is a proxy's, and all its clients count as one`
  return warning(check, `${says}; the proxy must set X-Forwarded-For, and SVC_TRUSTED_PROXIES must list it`)
}

/** A signed request to this path is never anonymous, and one to HEALTH may be. */
const OWN = '/v2/me'
const HEALTH = '/v2/health'

/**
 * Whether the three headers of a signature arrive. The codes of two calls tell which do not; the text of the service is for
 * people. Only an answer of the service shows that they arrive.
 */
export async function headers({ origin }: URL, signer: Signer, signal: AbortSignal): Promise<Finding> {
  const check = 'headers'
  const ask = async (path: string): Promise<{ status: number; text: string }> => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
    const answer = await fetch(origin + path, { headers: sign(signer, path), signal: limit, redirect: 'manual' })
    return { status: answer.status, text: await answer.text() }
  }
  const { status: ownStatus, text } = await ask(OWN)
  const code = codeOf(text)
  if (ownStatus >= 429) return skipped(check, `the service answered ${code ?? ownStatus}`)
  if (code === undefined && !isIdentity(ownStatus, text))
    return failed(
      check,
      `a proxy answers ${ownStatus} to signed requests: let it pass them with their Authorization on to the service`,
    )
  if (code !== 'unauthenticated') return ok(check, 'Authorization, X-SVC-Timestamp and X-SVC-Nonce arrive')
  // Without Authorization the service takes this call for an anonymous one.
  const { status } = await ask(HEALTH)
  const [removed, directive] =
    status === 401
      ? ['X-SVC-Timestamp or X-SVC-Nonce', 'let it forward headers that it does not know']
      : ['Authorization', 'let it forward this header, and check no logins itself']
  return failed(check, `a proxy removes or changes ${removed}, so no signed request can succeed: ${directive}`)
}

/** Whether a target arrives as it was signed. Ordinary paths do even if a proxy decodes and merges. */
export async function target({ origin }: URL, signer: Signer, signal: AbortSignal): Promise<Finding> {
  const check = 'target'
  const limit = AbortSignal.any([signal, AbortSignal.timeout(LIMIT_MS)])
  const answer = await fetch(origin + TARGET, { headers: sign(signer, TARGET), signal: limit, redirect: 'manual' })
  const code = codeOf(await answer.text())
  if (code === 'not_found') return ok(check, 'paths arrive as they are signed')
  if (code === 'signature_invalid')
    return failed(
      check,
      `a proxy changes paths such as ${TARGET}: let it forward the target as it is (proxy_pass without a path)`,
    )
  if (code === undefined)
    return failed(
      check,
      `a proxy answers ${answer.status} to paths such as ${TARGET}: let it forward the target as it is`,
    )
  return skipped(check, `the service answered ${code}`)
}

/** Whether the first event of a stream arrives at once, and uncompressed. */
export async function stream({ origin }: URL, signer: Signer, signal: AbortSignal): Promise<Finding> {
  const check = 'stream'
  const path = '/v2/stream'
  const stop = new AbortController()
  const limit = AbortSignal.any([signal, stop.signal, AbortSignal.timeout(FIRST_FRAME_MS)])
  try {
    const headers = { ...sign(signer, path), 'accept-encoding': 'gzip, br' }
    const answer = await fetch(origin + path, { headers, signal: limit, redirect: 'manual' })
    if (answer.status !== 200)
      return skipped(check, `the service answered ${codeOf(await answer.text()) ?? answer.status}`)
    await answer.body?.getReader().read()
    const coding = answer.headers.get('content-encoding')
    if (coding !== null)
      return warning(check, `a proxy compresses event streams (${coding}): turn compression off for ${path}`)
    return ok(check, 'events arrive at once')
  } catch (error) {
    if (!limit.aborted || signal.aborted) throw error
    return warning(
      check,
      `nothing of an event stream arrived within ${FIRST_FRAME_MS / 1_000} s: turn buffering off in the proxy for ${path}`,
    )
  } finally {
    stop.abort()
  }
}

function sign({ key, authority }: Signer, target: string): Record<string, string> {
  return { ...signRequest(key, { authority, method: 'GET', target, body: undefined }) }
}

/** The code of an error of the API; undefined for any other answer. */
function codeOf(text: string): string | undefined {
  const code = parsed<{ error?: { code?: unknown } }>(text)?.error?.code
  return typeof code === 'string' ? code : undefined
}

/** Whether it is the service's answer to OWN. */
function isIdentity(status: number, text: string): boolean {
  return status === 200 && typeof parsed<{ address?: unknown }>(text)?.address === 'string'
}

/** Undefined if it is not JSON, and for null. */
function parsed<T>(text: string): T | undefined {
  try {
    return (JSON.parse(text) as T | null) ?? undefined
  } catch {
    return undefined
  }
}
