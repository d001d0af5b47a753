import type { EnvReader } from './env-reader.ts'

const AUTHORITY = /^(?:[A-Za-z0-9._~-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?$/

/**
 * Reads the public authority, `SVC_AUTHORITY`, in ASCII. Requests are signed for it and addresses end with it, so it
 * must be the same in every process.
 */
export function readAuthority(env: EnvReader, standard = '127.0.0.1:8080'): string {
  return env.string('SVC_AUTHORITY', {
    default: standard,
    pattern: AUTHORITY,
    hint: 'must be a host with an optional port, e.g. agents.example.org or 127.0.0.1:8080',
  })
}
