/**
 * Whether two authorities are the same. A host is the same in either case (RFC 3986, 3.2.2); the port is compared as text,
 * since an authority announced without one is signed without one (spec 3.3).
 */
export function isSameAuthority(a: string, b: string): boolean {
  return a === b || a.toLowerCase() === b.toLowerCase()
}
