/** Scheme, host and port of a service's address. @throws TypeError where there is more, or it is no address. */
export function originOf(url: string): string {
  const { protocol, origin, pathname, search, hash, username, password } = new URL(url)
  if (protocol !== 'http:' && protocol !== 'https:') throw new TypeError('url must begin with http:// or https://')
  if (pathname !== '/' || search + hash + username + password !== '') {
    throw new TypeError('url is scheme, host and port, with nothing after')
  }
  return origin
}

/** One segment of a path, percent-encoded. @throws TypeError where it would not stay one. */
export function segment(text: string): string {
  // a URL takes these for steps up, whatever encoding they have
  if (text === '' || text === '.' || text === '..')
    throw new TypeError(`${JSON.stringify(text)} is neither a name nor an id`)
  return encodeURIComponent(text)
}
