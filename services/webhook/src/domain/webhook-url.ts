import { isIP } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { isPublicAddress } from './address.ts'

/** The target of a delivery. */
export interface Target {
  /** As the URL parser spells it: lower case, punycode, IPv4 as four decimals, IPv6 without brackets. */
  readonly host: string
  readonly port: number
  /** Whether the operator has exempted the target from the rule for addresses and ports, for tests only. */
  readonly exempt: boolean
}

/** `host:port`, in the format of `SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS`. */
export type ExemptTargets = ReadonlySet<string>

const MAX_CHARACTERS = 2_048
/**
 * The relevant part of RFC 3986. The URL parser repairs white space, tabs, backslashes and a missing host. After such
 * a repair the connection would go to another host than the one that a person reads in the text.
 */
const URI = /^https:\/\/(?![/?#])[!#-;=?-[\]_a-z~]+$/i
const HTTPS_PORT = 443

/**
 * Parses a URL and checks all that needs no lookup: HTTPS, port 443, no credentials, no fragment, no literal address
 * that is not public. Most checks are on the parsed URL, because parsing turns decimal, octal and hexadecimal spellings
 * of addresses into the usual one (spec 10.2; ADR 22).
 * @throws ServiceError `invalid_webhook_url`.
 */
export function parseWebhookUrl(text: string, exemptTargets: ExemptTargets): { url: URL; target: Target } {
  const refuse = (detail: string): never => {
    throw new ServiceError('invalid_webhook_url', { detail: `a webhook URL must ${detail}` })
  }
  if (text.length > MAX_CHARACTERS) refuse(`have at most ${MAX_CHARACTERS} characters`)
  if (!URI.test(text) || !URL.canParse(text)) refuse('be an absolute https URL')
  const url = new URL(text)
  const authority = text.slice('https://'.length).split(/[/?#]/, 1)[0] ?? ''
  if (authority.includes('@')) refuse('not have credentials')
  if (text.includes('#')) refuse('not have a fragment')
  const target = targetOf(url, exemptTargets)
  if (!target.exempt) {
    if (target.port !== HTTPS_PORT) refuse('use port 443')
    if (isIP(target.host) !== 0 && !isPublicAddress(target.host)) refuse('have a public address')
  }
  return { url, target }
}

function targetOf(url: URL, exemptTargets: ExemptTargets): Target {
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port, exempt: exemptTargets.has(`${url.hostname}:${port}`) }
}
