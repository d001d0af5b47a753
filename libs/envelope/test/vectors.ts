import { readFileSync } from 'node:fs'

const VECTORS = new URL('../../../test/vectors/', import.meta.url)

/** The text of a file in test/vectors. */
export function readVectors(path: string): string {
  return readFileSync(new URL(path, VECTORS), 'utf8')
}

export function hex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(Buffer.from(text, 'hex'))
}
