/** Scheme, host and port of a service's URL. @throws TypeError if it is not a URL, or contains anything else. */
export function originOf(url: string): string {
  const { protocol, origin, pathname, search, hash, username, password } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('url must begin with http:// or https://')
  if (pathname !== '/' || search + hash + username + password !== '') {
    throw new TypeError('url must be only scheme, host and port, e.g. https://agents.example')
  }
  return origin
}

/** Percent-encodes one segment of a path. @throws TypeError if it would not stay one segment. */
export function segment(text: string): string {
  // URL parsers resolve dot segments even if they are percent-encoded, so encoding does not help.
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${JSON.stringify(text)} is neither a name nor an id`)
  return encodeURIComponent(text)
}
