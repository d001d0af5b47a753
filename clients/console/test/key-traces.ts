import bs58 from 'bs58'

/** Every way in which a secret is likely to be written. Each is long enough that it never occurs by chance. */
export function spellingsOf(secret: Uint8Array): string[] {
  const bytes = Buffer.from(secret)
  const hex = bytes.toString('hex')
  // The end of base64 depends on what follows, so its last characters are left out.
  const base64 = [bytes.toString('base64'), bytes.toString('base64url')].map((text) => text.slice(0, 40))
  return [hex, ...base64, bs58.encode(secret), [...bytes].join(','), `${[...bytes].join(', ')}`]
}

/** @returns the spellings of the secrets that the text contains, also percent-encoded, in either case of hex digits. */
export function findTraces(text: string, secrets: readonly Uint8Array[]): string[] {
  const decoded = text.includes('%') ? `${text}\n${decodePercents(text)}` : text
  const lower = decoded.toLowerCase()
  return secrets
    .flatMap(spellingsOf)
    .filter((spelling) => decoded.includes(spelling) || (/^[0-9a-f]+$/.test(spelling) && lower.includes(spelling)))
}

function decodePercents(text: string): string {
  return text.replaceAll(/%[0-9a-fA-F]{2}/g, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)))
}
