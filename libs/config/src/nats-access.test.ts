import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAuthority } from '@svc/test/support/engines/certificates.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readNats } from './connections.ts'
import { envReader } from './env-reader.ts'

const SEED = `SU${'A'.repeat(56)}`
const CREDENTIALS = `-----BEGIN NATS USER JWT-----
e30.e30.AA_-
------END NATS USER JWT------

************************* IMPORTANT *************************

-----BEGIN USER NKEY SEED-----
${SEED}
------END USER NKEY SEED------
`
const folder = mkdtempSync(join(tmpdir(), 'svc-nats-access-'))

beforeAll(async () => {
  const authority = await createAuthority()
  const { cert, key } = await authority.issue()
  const files = {
    'ca.pem': `The authority\n${authority.cert}${(await createAuthority()).cert}`,
    'cut-ca.pem': `${authority.cert}${cert.slice(0, 200)}`,
    'cert.pem': cert,
    'key.pem': key,
    'cut-key.pem': key.slice(0, 100),
    'other-key.pem': authority.key,
    'user.creds': CREDENTIALS,
    'cut.creds': CREDENTIALS.slice(0, -10),
    'user.nk': `${SEED}\n`,
    'account.nk': SEED.replace('SU', 'SA'),
    'cut.nk': SEED.slice(0, 40),
    password: 'secret-password\n',
    empty: '',
  }
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
})
afterAll(() => rmSync(folder, { recursive: true }))

/** The mistakes, with `<folder>` in place of the test's folder; '' if there are none. */
function problemsOf(env: Record<string, string>): string {
  const paths = Object.entries(env).map(([name, value]) => [name, name.endsWith('_FILE') ? join(folder, value) : value])
  const e = envReader({ SVC_NATS_URL: 'tls://gateway@n', ...Object.fromEntries(paths) })
  readNats(e)
  try {
    e.check()
    return ''
  } catch (error) {
    return (error as Error).message.replaceAll(folder, '<folder>')
  }
}

test.each<Record<string, string>>([
  {},
  { SVC_NATS_CA_FILE: 'ca.pem' },
  { SVC_NATS_CERT_FILE: 'cert.pem', SVC_NATS_KEY_FILE: 'key.pem' },
  { SVC_NATS_CREDS_FILE: 'user.creds' },
  { SVC_NATS_NKEY_FILE: 'user.nk', SVC_NATS_USER: 'gateway' },
  { SVC_NATS_PASSWORD_FILE: 'password', SVC_NATS_USER: 'gateway', SVC_NATS_URL: 'nats://n' },
])('accepted: %j', (env) => {
  expect(problemsOf(env)).toBe('')
})

test.each<[Record<string, string>, string]>([
  [{ SVC_NATS_CA_FILE: 'none' }, 'SVC_NATS_CA_FILE is <folder>/none, which does not exist'],
  [{ SVC_NATS_CREDS_FILE: '.' }, 'SVC_NATS_CREDS_FILE is <folder>, which cannot be read (EISDIR)'],
  [{ SVC_NATS_CA_FILE: 'key.pem' }, 'SVC_NATS_CA_FILE is <folder>/key.pem, which is not a certificate in PEM'],
  [{ SVC_NATS_CA_FILE: 'cut-ca.pem' }, 'SVC_NATS_CA_FILE is <folder>/cut-ca.pem, which is not a certificate in PEM'],
  [{ SVC_NATS_CA_FILE: 'empty' }, 'SVC_NATS_CA_FILE is <folder>/empty, which is not a certificate in PEM'],
  [
    { SVC_NATS_CERT_FILE: 'cert.pem', SVC_NATS_KEY_FILE: 'cut-key.pem' },
    'SVC_NATS_KEY_FILE is <folder>/cut-key.pem, which is not a private key in PEM',
  ],
  [
    { SVC_NATS_CERT_FILE: 'cert.pem', SVC_NATS_KEY_FILE: 'other-key.pem' },
    'SVC_NATS_KEY_FILE is <folder>/other-key.pem, which is not the key of SVC_NATS_CERT_FILE',
  ],
  [{ SVC_NATS_KEY_FILE: 'key.pem' }, 'SVC_NATS_KEY_FILE is <folder>/key.pem, but SVC_NATS_CERT_FILE is not set'],
  [{ SVC_NATS_CERT_FILE: 'cert.pem' }, 'SVC_NATS_CERT_FILE is <folder>/cert.pem, but SVC_NATS_KEY_FILE is not set'],
  [
    { SVC_NATS_CA_FILE: 'ca.pem', SVC_NATS_URL: 'nats://n' },
    'SVC_NATS_CA_FILE is <folder>/ca.pem, but SVC_NATS_URL has nats:// and so no TLS: write tls:// there',
  ],
  [{ SVC_NATS_CREDS_FILE: 'cut.creds' }, 'SVC_NATS_CREDS_FILE is <folder>/cut.creds, which has no JWT and seed'],
  [{ SVC_NATS_NKEY_FILE: 'account.nk' }, 'SVC_NATS_NKEY_FILE is <folder>/account.nk, which is not the seed of a user'],
  [{ SVC_NATS_NKEY_FILE: 'cut.nk' }, 'SVC_NATS_NKEY_FILE is <folder>/cut.nk, which is not the seed of a user'],
  [{ SVC_NATS_PASSWORD_FILE: 'empty' }, 'SVC_NATS_PASSWORD_FILE is <folder>/empty, which is empty'],
  [
    { SVC_NATS_NKEY_FILE: 'user.nk', SVC_NATS_CREDS_FILE: 'user.creds' },
    'SVC_NATS_NKEY_FILE is <folder>/user.nk, but SVC_NATS_CREDS_FILE is set as well: keep one of them',
  ],
  [
    { SVC_NATS_PASSWORD_FILE: 'password', SVC_NATS_URL: 'tls://gateway:secret@n' },
    'SVC_NATS_PASSWORD_FILE is <folder>/password, but SVC_NATS_URL has a password as well: keep one of them',
  ],
  [{ SVC_NATS_CREDS_FILE: 'user.creds', SVC_NATS_URL: 'tls://n' }, 'SVC_NATS_USER is not set, but SVC_NATS_CREDS_FILE'],
  [{ SVC_NATS_USER: 'boards' }, 'SVC_NATS_USER is boards, but SVC_NATS_URL names the user gateway: keep one of them'],
  [{ SVC_NATS_USER: 'a.>', SVC_NATS_URL: 'tls://n' }, 'SVC_NATS_USER is a.>, which has more than letters, digits'],
])('refused at the start, with the name and the value: %j', (env, problem) => {
  const problems = problemsOf(env)
  expect(problems).toContain(`configuration: ${problem}`)
  expect(problems).not.toMatch(/;|secret|BEGIN|SUAAA/)
})

test('all mistakes are reported at once, including those of the URL', () => {
  const env = { SVC_NATS_URL: 'nowhere', SVC_NATS_CA_FILE: 'none', SVC_NATS_KEY_FILE: 'none' }
  expect(problemsOf(env).split('; ')).toHaveLength(4)
})
