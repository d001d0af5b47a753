import { expect, test } from 'vitest'
import { readConnections } from './connections.ts'
import { envReader } from './env-reader.ts'

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

test('NATS may be several servers', () => {
  expect(problemsOf({})).toBeUndefined()
})

test.each([
  ['SVC_NATS_URL', 'nats://u:secret@a:4222,b'],
  ['SVC_NATS_URL', 'nats://u:secret@a b'],
  ['SVC_DATABASE_URL', 'postgres://u:secret@a:port/svc'],
])('%s that is no URL is said at the start, by its name, and nothing of it', (name, url) => {
  expect(problemsOf({ [name]: url })).toBe(`configuration: ${name} is not a URL: check what is escaped`)
})
