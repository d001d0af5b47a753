/** A request as a curl command. Its signature is the one that was sent, so a server refuses it after a minute (spec 3.6). */
import type { Exchange } from '../result.ts'

export function curlOf({ method, url, headers, body }: Exchange['request']): string {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    [value].flat().flatMap((one) => (name === 'content-length' ? [] : [`-H ${quoted(`${name}: ${one}`)}`])),
  )
  const data = body === undefined ? [] : [`--data-raw ${quoted(body)}`]
  return [`curl -isS --path-as-is -X ${method} ${quoted(url)}`, ...lines, ...data].join(' \\\n  ')
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`
}
