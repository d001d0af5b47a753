import { readAuthority } from '@svc/config/authority.ts'
import { readNats } from '@svc/config/connections.ts'
import { type EnvReader, envReader } from '@svc/config/env-reader.ts'
import type { NatsConfig } from '@svc/config/nats-access.ts'
import { type ProcessConfig, readProcess } from '@svc/config/process.ts'
import { DEFAULTS } from '@svc/contracts/limits.ts'
import { type AddressRange, parseAddressRange } from './http/connections/client-address.ts'
import type { Rate } from './rates/gcra.ts'

/** Settings that other services act on and that the manifest announces. All processes of a deployment get the same values. */
export interface AnnouncedConfig {
  powDifficulty: number
  retentionDays: number
  dailyFreeUnits: number
  dailyHardLimit: number
  dailyIntroductions: number
  streamSeconds: number
  streamsPerProcess: number
}

export interface GatewayConfig extends AnnouncedConfig, NatsConfig {
  process: ProcessConfig
  /** The address to listen on. The default is loopback; a container has its own network and sets `::` (host.ts). */
  httpHost: string
  /** 0 takes any free port. */
  httpPort: number
  /** The public authority, which is the second line of the signed string. The same for all gateways. ASCII. */
  authority: string
  /** Peers whose `X-Forwarded-For` is trusted. */
  trustedProxies: readonly AddressRange[]
  /** Origins whose browsers may call the API; `*` is any. */
  corsOrigins: readonly string[]
  /** Whether security events of agents are logged, with ids. */
  securityLog: boolean
  /** Folder of the built files of the web console at `/console`. Undefined: there is no console. */
  console: URL | undefined
  /** Requests per client address (spec 3.15). */
  rate: Rate
  /** On shutdown, how long the gateway keeps listening while it reports that it is not ready. */
  drainSeconds: number
  /** Maximum number of requests in progress (load.ts). */
  maxRequests: number
  /** Maximum for one client address. Connections of trusted proxies do not count. */
  maxConnectionsPerClient: number
  /** Challenges and registrations together, per client address. They count against `rate` as well. */
  registrationRate: Rate
}

/** Only a build has it (deploy/build). */
const CONSOLE = new URL('../../../clients/console/built/', import.meta.url)
const MAX_RATE = 1_000_000
/**
 * About as many requests as one core can process in a second. That is several times the number in progress in normal operation,
 * and low enough that every request is answered within its deadline.
 */
export const MAX_REQUESTS = 1_024
/** @throws ConfigError naming every variable that is missing or wrong. */
export function readConfig(env: NodeJS.ProcessEnv): GatewayConfig {
  const e = envReader(env)
  const config: GatewayConfig = {
    ...readNats(e),
    process: readProcess(e),
    httpHost: e.string('SVC_HTTP_HOST', { default: '127.0.0.1' }),
    httpPort: e.int('SVC_HTTP_PORT', { default: 8080, min: 0, max: 65_535 }),
    authority: readAuthority(e),
    trustedProxies: readAddressRanges(e, 'SVC_TRUSTED_PROXIES'),
    corsOrigins: readOrigins(e, 'SVC_CORS_ORIGINS'),
    console: e.flag('SVC_CONSOLE', { default: true }) ? CONSOLE : undefined,
    securityLog: e.flag('SVC_SECURITY_LOG', { default: false }),
    rate: {
      perSecond: e.number('SVC_RATE_PER_SECOND', { default: DEFAULTS.ratePerSecond, min: 0.001, max: MAX_RATE }),
      burst: e.int('SVC_RATE_BURST', { default: DEFAULTS.rateBurst, min: 1, max: MAX_RATE }),
    },
    registrationRate: {
      perSecond: e.number('SVC_REGISTRATION_RATE_PER_SECOND', {
        default: DEFAULTS.registrationRatePerSecond,
        min: 0.001,
        max: MAX_RATE,
      }),
      burst: e.int('SVC_REGISTRATION_RATE_BURST', { default: DEFAULTS.registrationRateBurst, min: 1, max: MAX_RATE }),
    },
    drainSeconds: e.number('SVC_DRAIN_SECONDS', { default: 0, min: 0, max: 8 }),
    maxRequests: e.int('SVC_MAX_REQUESTS', { default: MAX_REQUESTS, min: 4, max: 100_000 }),
    // Room for 1,000 agents behind one address, each with two streams and a keep-alive connection, plus a third in reserve.
    maxConnectionsPerClient: e.int('SVC_MAX_CONNECTIONS_PER_CLIENT', { default: 4_000, min: 1, max: 100_000 }),
    ...readAnnounced(e),
  }
  e.check()
  return config
}

// The bounds are wide, because the services that act on these variables check narrower ones and refuse to start outside them.
function readAnnounced(e: EnvReader): AnnouncedConfig {
  const units = { min: 0, max: Number.MAX_SAFE_INTEGER }
  return {
    powDifficulty: e.int('SVC_POW_DIFFICULTY', { default: DEFAULTS.powDifficulty, min: 0, max: 256 }),
    retentionDays: e.number('SVC_RETENTION_DAYS', { default: DEFAULTS.retentionDays, min: 0, max: 36_500 }),
    dailyFreeUnits: e.int('SVC_DAILY_FREE_UNITS', { default: DEFAULTS.dailyFreeUnits, ...units }),
    dailyHardLimit: e.int('SVC_DAILY_HARD_LIMIT', { default: DEFAULTS.dailyHardLimit, ...units }),
    dailyIntroductions: e.int('SVC_DAILY_INTRODUCTIONS', { default: DEFAULTS.dailyIntroductions, ...units }),
    streamSeconds: e.int('SVC_STREAM_MAX_SECONDS', { default: DEFAULTS.streamSeconds, min: 1, max: 86_400 }),
    streamsPerProcess: e.int('SVC_STREAMS_PER_PROCESS', {
      default: DEFAULTS.streamsPerProcess,
      min: 1,
      max: 1_000_000,
    }),
  }
}

function readAddressRanges(e: EnvReader, name: string): AddressRange[] {
  const texts = e.list(name)
  if (texts.length === 1 && texts[0] === 'none') return []
  return texts.flatMap((text) => {
    const range = parseAddressRange(text)
    if (range !== undefined) return [range]
    if (text === 'none') e.fail(name, 'has none beside addresses: leave out the one or the others')
    else
      e.fail(
        name,
        `has ${JSON.stringify(text)}, which is neither an IP address nor a CIDR block: list those of your proxies, or set none`,
      )
    return []
  })
}

function readOrigins(e: EnvReader, name: string): string[] {
  const origins = e.list(name)
  for (const text of origins) {
    if (text !== '*' && (!URL.canParse(text) || new URL(text).origin !== text)) {
      e.fail(name, `has ${JSON.stringify(text)}, which is not an origin such as https://app.example.org`)
    }
  }
  return origins
}
