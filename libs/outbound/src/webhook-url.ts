import { isIP } from 'node:net'
import { ServiceError } from '@svc/contracts/errors.ts'
import { isPublicAddress } from './address.ts'

/** The target of a delivery. */
export interface Target {
  /**
   * As the URL parser spells it, without a trailing dot: lower case, punycode, IPv4 as four decimals, IPv6 without brackets. The
   * TLS server name, the certificate check and `Host` use it (spec 10.6).
   */
  readonly host: string
  readonly port: number
  /** Path and query, letter for letter as in the URL. The URL parser would resolve `..` and `%2e`, and encode `'`. */
  readonly path: string
  /** Whether the operator has exempted the target from the rule for addresses and ports, for tests only. */
  readonly exempt: boolean
}

/** `host:port`, in the format of `SVC_WEBHOOK_ALLOWED_PRIVATE_TARGETS`. */
export type ExemptTargets = ReadonlySet<string>

const MAX_CHARACTERS = 2_048
/**
 * The authority and the rest of an absolute URL. Only the authority is given to the URL parser, so the parser and the path that is
 * sent cannot disagree about where the host ends.
 */
const ABSOLUTE = /^https:\/\/([^/?#]+)(.*)$/is
/**
 * A character that RFC 3986 does not allow. The URL parser repairs white space, backslashes and letters outside of ASCII. After such
 * a repair the connection would go to another host, or to another path, than the one that a person reads in the text.
 */
const NOT_IN_URLS = /[^!#-;=?-[\]_a-z~]/i
const HTTPS_PORT = 443

/**
 * Parses a URL and checks all that needs no lookup: HTTPS, port 443, no credentials, no fragment, no literal address
 * that is not public. The checks of the host are on the parsed host, because parsing turns decimal, octal and hexadecimal spellings
 * of addresses into the usual one (spec 10.2; ADR 22).
 * @throws ServiceError `invalid_webhook_url`.
 */
export function parseWebhookUrl(text: string, exemptTargets: ExemptTargets): Target {
  const refuse = (detail: string): never => {
    throw new ServiceError('invalid_webhook_url', { detail: `a webhook URL must ${detail}` })
  }
  if (text.length > MAX_CHARACTERS) refuse(`have at most ${MAX_CHARACTERS} characters`)
  const [strange] = NOT_IN_URLS.exec(text) ?? []
  if (strange !== undefined) refuse(`not have the character ${JSON.stringify(strange)}: percent-encode it`)
  const [, authority = '', rest = ''] = ABSOLUTE.exec(text) ?? []
  if (authority === '' || !URL.canParse(`https://${authority}`)) refuse('be an absolute https URL')
  if (authority.includes('@')) refuse('not have credentials')
  if (authority.includes('%')) refuse('have a host without percent-encoding')
  if (rest.includes('#')) refuse('not have a fragment')
  const { hostname, port: written } = new URL(`https://${authority}`)
  const host = hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '')
  const port = written === '' ? HTTPS_PORT : Number(written)
  if (host.split('.').includes('')) refuse('have a host without empty parts')
  const exempt = exemptTargets.has(`${hostname}:${port}`)
  if (!exempt) {
    if (port !== HTTPS_PORT) refuse('use port 443')
    if (isIP(host) !== 0 && !isPublicAddress(host)) refuse('have a public address')
  }
  return { host, port, path: rest.startsWith('/') ? rest : `/${rest}`, exempt }
}
