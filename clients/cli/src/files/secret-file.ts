import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { encodeBase64 } from '@svc/svc1/base64.ts'
import { WEBHOOK_SECRET_PREFIX } from '@svc/svc1/webhook-key.ts'
import { UsageError } from '../io.ts'
import type { Output } from '../output/output.ts'
import { writeSecretFile } from './key-file.ts'

const SECRET_BYTES = 32

/** A secret of Standard Webhooks, so that deliveries also carry its headers (spec 10.9). */
export function makeWebhookSecret(): string {
  return WEBHOOK_SECRET_PREFIX + encodeBase64(randomBytes(SECRET_BYTES))
}

/**
 * Reads a secret. Creates the file with a new secret if it does not exist.
 * @returns the text of the file without a trailing line feed.
 * @throws UsageError if the file cannot be read or created.
 */
export function readSecretFile(path: string, out: Output): string {
  if (!existsSync(path)) {
    writeSecretFile(path, `${makeWebhookSecret()}\n`)
    out.note(`wrote a new secret to ${path}`)
  }
  try {
    return readFileSync(path, 'utf8').replace(/\r?\n$/, '')
  } catch (cause) {
    throw new UsageError(`${path} cannot be read`, { cause })
  }
}
