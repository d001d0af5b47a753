import { randomUUID } from 'node:crypto'
/** Certificates for tests, from a test authority. */
import { generate } from 'selfsigned'

export interface Credentials {
  readonly key: string
  readonly cert: string
}

export interface Authority extends Credentials {
  issue(options?: CertificateOptions): Promise<Credentials>
}

export interface CertificateOptions {
  readonly names?: readonly string[]
  readonly addresses?: readonly string[]
  readonly expired?: boolean
}

const DAY_MS = 86_400_000

/** @param name unique by default: test files in one worker trust each other's authorities, and TLS finds an issuer by its name. */
export async function createAuthority(name = `authority of a test ${randomUUID()}`): Promise<Authority> {
  const made = await generate([{ name: 'commonName', value: name }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, critical: true },
    ],
  })
  const ca = { key: made.private, cert: made.cert }
  return {
    ...ca,
    async issue({ names = ['localhost'], addresses = ['127.0.0.1'], expired = false } = {}) {
      const beganMs = Date.now() - 2 * DAY_MS
      const issued = await generate([{ name: 'commonName', value: 'server of a test' }], {
        ca,
        keyType: 'ec',
        algorithm: 'sha256',
        notBeforeDate: new Date(beganMs),
        notAfterDate: new Date(expired ? beganMs + DAY_MS : beganMs + 30 * DAY_MS),
        extensions: [
          { name: 'basicConstraints', cA: false },
          {
            name: 'subjectAltName',
            altNames: [
              ...names.map((value) => ({ type: 2 as const, value })),
              ...addresses.map((ip) => ({ type: 7 as const, ip })),
            ],
          },
        ],
      })
      return { key: issued.private, cert: issued.cert }
    },
  }
}
