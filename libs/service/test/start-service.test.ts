import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createTestDatabase } from '@svc/test/support/database.ts'
import { startTestNats } from '@svc/test/support/engines.ts'
import { expect, test } from 'vitest'

const PROCESS = fileURLToPath(new URL('./hanging-process.ts', import.meta.url))

test('issue 4, Build 7: a process whose loop does not go on ends by itself, with code 1, for its supervisor to start another', async () => {
  await using nats = await startTestNats()
  await using database = await createTestDatabase(['budget'])
  const child = spawn(process.execPath, [PROCESS], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { SVC_NATS_URL: nats.urlFor('budget'), SVC_DATABASE_URL: database.urlFor('budget') },
  })
  const printed = Promise.all([child.stdout, child.stderr].map(async (output) => (await output.toArray()).join('')))
  const [code] = await once(child, 'close')
  expect(code).toBe(1)
  const [stdout, stderr] = await printed
  expect(stdout).toContain('"msg":"ready"')
  expect(stderr).toContain('the loop hanging does not go on')
})
