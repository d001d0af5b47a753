/**
 * Whether two authorities are the same. Hosts are compared without regard to case (RFC 3986, 3.2.2). Ports are compared as
 * text, because an authority that is announced without a port is signed without one (spec 3.3).
 */
export function isSameAuthority(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase()
}
