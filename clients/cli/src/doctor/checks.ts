/** The checks of `svc doctor`. Each check comes after the checks that it depends on. */
import { statSync } from 'node:fs'
import { isIP } from 'node:net'
import { connect } from 'node:tls'
import { SERVICE } from '@svc/contracts/limits.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { AnswerError, ApiError, NetworkError } from '@svc/sdk/errors.ts'
import type { Context, Target } from '../context.ts'
import { BUG, explainFailure } from '../failure.ts'
import { readKeyFile } from '../files/key-file.ts'
import { type Finding, failed, ok, skipped, warning } from './findings.ts'
import { clientAddress, headers as headersCheck, type Signer, stream, target as targetCheck } from './proxies.ts'

/** Must equal the minimum of the published svc in deploy/npm. */
const MIN_NODE = [22, 12] as const
/** The service refuses a larger difference (spec 3.14). svc corrects itself, but other programs may not. */
const CLOCK_LIMIT_SECONDS = 60
const CLOCK_NOTICE_SECONDS = 5
const CONNECT_MS = 10_000
const CERTIFICATE_NOTICE_DAYS = 14
const FEW_UNITS = 10
const DAY_MS = 86_400_000

/** The checks that need a key, in order. */
const OF_AGENT = ['headers', 'registration', 'budget', 'target', 'stream']

/** Runs all possible checks, and continues after a check that fails. */
export async function* diagnose(context: Context): AsyncGenerator<Finding> {
  const { target, signal } = context
  yield nodeVersion()
  yield profile(target)
  const key = keyFile(context)
  yield key
  const origin = parsedUrl(target.url)
  if (origin === undefined) {
    yield failed('address', `${target.url} is not a valid URL: use --url https://<host>`)
    return
  }
  yield await tls(origin, signal)
  const visitor = context.visitor()
  const reached = await attempt('reachability', async () => {
    const { status, version, service } = await visitor.health({ signal })
    if (status !== 'ok')
      return failed('reachability', `${target.url} answers, but does not work now (${status}): try again later`)
    return ok('reachability', `${target.url} answers as ${service} ${version}`)
  })
  yield reached
  if (reached.result === 'failed') {
    for (const check of ['versions', 'clock', 'client', 'authority', ...OF_AGENT]) {
      yield skipped(check, 'the service was not reached')
    }
    return
  }
  yield await versions(visitor, signal)
  yield await clock(origin, signal)
  yield await attempt('client', () => clientAddress(origin, signal))
  yield await authority(visitor, target, origin, signal)
  if (key.result === 'failed' || key.result === 'skipped') {
    for (const check of OF_AGENT) yield skipped(check, 'no key')
    return
  }
  const client = context.agent()
  yield* agent(
    client,
    signal,
    async () => ({ key: context.key(), authority: await client.authority({ signal }) }),
    origin,
  )
}

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  const isEnough = major > MIN_NODE[0] || (major === MIN_NODE[0] && minor >= MIN_NODE[1])
  if (isEnough) return ok('node', process.version)
  return failed('node', `${process.version} is too old: install Node ${MIN_NODE.join('.')} or later`)
}

function profile({ profile }: Target): Finding {
  return profile === undefined ? ok('profile', 'no profile is used') : ok('profile', profile)
}

function keyFile({ target }: Context): Finding {
  const { key: path } = target
  if (path === undefined) return skipped('key', 'no key was named: run svc init to make an agent')
  const warnings: string[] = []
  try {
    const { agentId } = readKeyFile(path, (text) => warnings.push(text))
    const [first] = warnings
    if (first !== undefined) return warning('key', first.replace('warning: ', ''))
    return ok('key', `${path} (${agentId}${process.platform === 'win32' ? '' : `, mode ${modeOf(path)}`})`)
  } catch (error) {
    return failed('key', explainFailure(error).sentence)
  }
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8).padStart(4, '0')
}

function parsedUrl(url: string): URL | undefined {
  const parsed = URL.parse(url)
  return parsed !== null && ['http:', 'https:'].includes(parsed.protocol) ? parsed : undefined
}

async function tls({ protocol, hostname, port }: URL, signal: AbortSignal): Promise<Finding> {
  const host = hostname.replace(/^\[|\]$/g, '')
  if (protocol === 'http:') {
    const isLocal = host === 'localhost' || host === '::1' || host.startsWith('127.')
    if (isLocal) return ok('tls', 'not used; the service is on this machine')
    const says = 'not used: others on the network can read messages that are not sealed; use --url https://…'
    return warning('tls', says)
  }
  return attempt('tls', async () => {
    const { version, until } = await handshake(host, port === '' ? 443 : Number(port), signal)
    const days = Math.floor((until - Date.now()) / DAY_MS)
    const says = `${version}, the certificate expires in ${days} days`
    return days < CERTIFICATE_NOTICE_DAYS ? warning('tls', says) : ok('tls', says)
  })
}

/** Verifies the certificate like `fetch`: with the authorities of this Node, by host name or address. */
function handshake(host: string, port: number, signal: AbortSignal): Promise<{ version: string; until: number }> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port, ...(isIP(host) === 0 ? { servername: host } : {}), timeout: CONNECT_MS })
    const end = (error?: Error): void => {
      socket.destroy()
      if (error !== undefined) reject(error)
    }
    socket.on('secureConnect', () => {
      resolve({ version: socket.getProtocol() ?? 'TLS', until: Date.parse(socket.getPeerCertificate().valid_to) })
      end()
    })
    socket.on('error', end)
    socket.on('timeout', () => end(new Error(`no TLS connection to ${host} within ${CONNECT_MS / 1_000} s`)))
    signal.addEventListener('abort', () => end(signal.reason), { once: true })
  })
}

async function versions(visitor: AgentClient, signal: AbortSignal): Promise<Finding> {
  return attempt('versions', async () => {
    const { version } = await visitor.health({ signal })
    const [own, theirs] = [SERVICE.version, version].map((text) => text.split('.')[0])
    if (own === theirs) return ok('versions', `svc ${SERVICE.version}, service ${version}`)
    const says = `svc ${SERVICE.version} does not fit the service's version ${version}: install svc ${theirs}`
    return warning('versions', says)
  })
}

async function clock({ origin }: URL, signal: AbortSignal): Promise<Finding> {
  return attempt('clock', async () => {
    const limit = AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)])
    const sentMs = Date.now()
    const { headers } = await fetch(`${origin}/v2/health`, { signal: limit, redirect: 'manual' })
    const at = Date.parse(headers.get('date') ?? '')
    if (Number.isNaN(at)) return warning('clock', 'the service sends no Date header, so the clock cannot be compared')
    // Date cuts off half a second on average. Assume that it was written half-way through the round trip.
    const offSeconds = Math.round(((sentMs + Date.now()) / 2 - at - 500) / 1000)
    const says = `${Math.abs(offSeconds)} s ${offSeconds < 0 ? 'behind' : 'ahead of'} the service`
    if (Math.abs(offSeconds) > CLOCK_LIMIT_SECONDS) return failed('clock', `${says}: set this machine's clock`)
    if (Math.abs(offSeconds) <= CLOCK_NOTICE_SECONDS) return ok('clock', 'agrees with the service')
    return warning('clock', `${says}: set this machine's clock`)
  })
}

async function authority(visitor: AgentClient, target: Target, { host }: URL, signal: AbortSignal): Promise<Finding> {
  return attempt('authority', async () => {
    const { authority: announced } = await visitor.manifest({ signal })
    if (target.authority !== undefined && target.authority !== announced) {
      const says = `the service announces ${announced}, but ${target.authority} was pinned: another service answers at ${target.url}, or it was renamed`
      return failed('authority', says)
    }
    if (announced === host || target.authority === announced) return ok('authority', announced)
    const says = `the service announces ${announced}, not ${host}: pin the authority that you expect with --authority or a profile`
    return warning('authority', says)
  })
}

async function* agent(
  client: AgentClient,
  signal: AbortSignal,
  signer: () => Promise<Signer>,
  origin: URL,
): AsyncGenerator<Finding> {
  const headers = await attempt('headers', async () => headersCheck(origin, await signer(), signal))
  yield headers
  if (headers.result === 'failed') {
    for (const check of OF_AGENT.slice(1)) yield skipped(check, 'signed requests do not arrive')
    return
  }
  const registration = await attempt('registration', async () => {
    const { address, inbox_policy } = await client.me({ signal })
    return ok('registration', `${address}, inbox policy ${inbox_policy}`)
  })
  yield registration
  if (registration.result === 'failed') {
    for (const check of OF_AGENT.slice(2)) yield skipped(check, 'not registered')
    return
  }
  yield await attempt('budget', async () => {
    const { used_units, daily_free_units, daily_hard_limit, credit_balance } = await client.budget({ signal })
    const left = Math.min(daily_hard_limit - used_units, Math.max(0, daily_free_units - used_units) + credit_balance)
    // The answer does not say which of the used units were paid with credits. These leave more of the free units.
    const says = `at least ${left} units are left today`
    return left < FEW_UNITS ? warning('budget', says) : ok('budget', says)
  })
  yield await attempt('target', async () => targetCheck(origin, await signer(), signal))
  yield await attempt('stream', async () => stream(origin, await signer(), signal))
}

async function attempt(check: string, run: () => Promise<Finding>): Promise<Finding> {
  try {
    return await run()
  } catch (error) {
    if (error instanceof NetworkError || error instanceof AnswerError) {
      return failed(check, `${error.message}: is the service up, and is --url right?`)
    }
    if (error instanceof Error && 'code' in error && error.code === 'ERR_SSL_WRONG_VERSION_NUMBER') {
      return failed(check, 'the server does not speak TLS: give --url http://…')
    }
    const { sentence } = explainFailure(error)
    // An error of the platform, e.g. of TLS, is not a bug in svc.
    const isOwn = error instanceof ApiError || !sentence.startsWith(BUG)
    return failed(check, isOwn ? sentence : (error as Error).message)
  }
}
