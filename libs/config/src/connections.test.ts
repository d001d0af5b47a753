import { expect, test } from 'vitest'
import { readConnections } from './connections.ts'
import { envReader } from './env-reader.ts'
import { parseNatsUrl } from './nats-url.ts'

const GOOD = { SVC_NATS_URL: 'nats://u:p@a:4222,nats://u:p@b:4222', SVC_DATABASE_URL: 'postgres://u:p@c:5432/svc' }

function problemsOf(env: NodeJS.ProcessEnv): string | undefined {
  const e = envReader({ ...GOOD, ...env })
  readConnections(e)
  try {
    e.check()
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

test.each([
  ['SVC_DATABASE_URL', 'postgres://u:p@c/svc?sslmode=verify-full'],
  ['SVC_NATS_URL', 'nats://u:p@a:4222,nats://u:p@b:4222'],
  ['SVC_NATS_URL', 'tls://u:p@a:4222,tls://u:p@[::1]:4222/'],
  ['SVC_NATS_URL', 'nats://a'],
])('%s may be %s', (name, url) => {
  expect(problemsOf({ [name]: url })).toBeUndefined()
})

test.each([
  ['SVC_NATS_URL', 'nats://u:secret@a:4222,b'],
  ['SVC_NATS_URL', 'nats://u:secret@a b'],
  ['SVC_NATS_URL', 'nats://u:%secret@a'],
  ['SVC_DATABASE_URL', 'postgres://u:secret@a:port/svc'],
  ['SVC_DATABASE_URL', 'postgres://u:secret@a:5432,b:port/svc'],
])('%s that is not a URL is reported at the start, by its name, without its value', (name, url) => {
  expect(problemsOf({ [name]: url })).toBe(
    `configuration: ${name} is not a valid URL: percent-encode special characters of the password, such as %40 for @`,
  )
})

test.each([
  ['SVC_NATS_URL', 'http://u:secret@a:4222', 'has the scheme http://: write tls:// for TLS, or nats:// without'],
  ['SVC_NATS_URL', 'wss://u:secret@a:4222', 'has the scheme wss://: write tls:// for TLS, or nats:// without'],
  ['SVC_NATS_URL', 'tls://u:secret@a:4222,nats://u:secret@b:4222', 'mixes tls:// and nats://'],
  ['SVC_NATS_URL', 'nats:a:4222', 'names no host'],
  ['SVC_NATS_URL', 'nats://u:secret@a:4222?tls=true', 'has more than host and port for a'],
  ['SVC_DATABASE_URL', 'mysql://u:secret@a/svc', 'has the scheme mysql://'],
  ['SVC_DATABASE_URL', 'postgres://u:secret@a/svc?sslmode=prefer', 'prefer, which would continue without TLS'],
])('%s is refused at the start if it is %s', (name, url, problem) => {
  const problems = problemsOf({ [name]: url })
  expect(problems).toContain(`configuration: ${name} `)
  expect(problems).toContain(problem)
  expect(problems).not.toContain('secret')
})

test('the login of NATS is that of the first server, and certificates must be for the hosts', () => {
  expect(parseNatsUrl('tls://u:p%40@a:4222,tls://[::1]')).toEqual({
    tls: true,
    servers: ['a:4222', '[::1]'],
    hosts: ['a', '::1'],
    user: 'u',
    password: 'p@',
  })
})
