import { isIP } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { isPublicAddress } from './address.ts'

/** Where a delivery goes. */
export interface Target {
  /** As the URL parser has it: lower case, punycode, an IPv4 address in four decimals, an IPv6 one without brackets. */
  readonly host: string
  readonly port: number
  /** Of those that the operator has exempt from the public-address and port rule, for tests alone. */
  readonly exempt: boolean
}

/** `host:port`, as `SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS` lists them. */
export type ExemptTargets = ReadonlySet<string>

const MAX_CHARACTERS = 2_048
/**
 * RFC 3986 in what matters here: the URL parser repairs white space, tabs, backslashes and a missing host, and somebody who reads the text
 * would see another host than the one that is connected to.
 */
const URI = /^https:\/\/(?![/?#])[!#-;=?-[\]_a-z~]+$/i
const HTTPS_PORT = 443

/**
 * Parses and judges what can be judged without asking anybody: HTTPS, port 443, no credentials, no fragment, no literal
 * address that is not public. The text is judged after parsing, which turns decimal, octal and hexadecimal spellings of
 * addresses into the usual one. Source: spec 10.2; ADR 22.
 * @throws ServiceError `invalid_webhook_url`.
 */
export function parseWebhookUrl(text: string, exemptTargets: ExemptTargets): { url: URL; target: Target } {
  const refuse = (detail: string): never => {
    throw new ServiceError('invalid_webhook_url', { detail: `a webhook URL ${detail}` })
  }
  if (text.length > MAX_CHARACTERS) refuse(`has at most ${MAX_CHARACTERS} characters`)
  if (!URI.test(text) || !URL.canParse(text)) refuse('is an absolute https URL')
  const url = new URL(text)
  const authority = text.slice('https://'.length).split(/[/?#]/, 1)[0] ?? ''
  if (authority.includes('@')) refuse('has no credentials')
  if (text.includes('#')) refuse('has no fragment')
  const target = targetOf(url, exemptTargets)
  if (!target.exempt) {
    if (target.port !== HTTPS_PORT) refuse('is on port 443')
    if (isIP(target.host) !== 0 && !isPublicAddress(target.host)) refuse('has a public address')
  }
  return { url, target }
}

function targetOf(url: URL, exemptTargets: ExemptTargets): Target {
  const port = url.port === '' ? HTTPS_PORT : Number(url.port)
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  return { host, port, exempt: exemptTargets.has(`${url.hostname}:${port}`) }
}
