/** A process moves to a changed login in its file, while it serves and makes calls (docs/operating/rotate.md). */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Type } from '@sinclair/typebox'
import { readNats } from '@svc/config/connections.ts'
import { envReader } from '@svc/config/env-reader.ts'
import { defineCall } from '@svc/contracts/define.ts'
import { createLogger, type Logger } from '@svc/telemetry/logger.ts'
import { newTraceparent } from '@svc/telemetry/trace.ts'
import { findTestRun, startConfiguredNats } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { expect, onTestFinished, test } from 'vitest'
import { createBus } from '../src/bus.ts'
import { connectNats, drainNats } from '../src/connect.ts'
import { handle, serve } from '../src/serve.ts'

const double = defineCall({
  subject: 'svc.budget.double',
  request: Type.Object({ value: Type.Integer() }),
  reply: Type.Object({ value: Type.Integer() }),
})

const CONFIG = 'include "users.conf"'
const passwords = (first: string, second: string) => ({
  'passwords.conf': `SVC_NATS_BUDGET_PASSWORD: ${first}\nSVC_NATS_BUDGET_PASSWORD_B: ${second}\n`,
})

/** A process with its URL in a file. */
async function startProcess(folder: string, name: string, url: string) {
  const path = join(folder, name)
  const write = (text: string): void => writeFileSync(path, text)
  write(url)
  const lines: string[] = []
  const logger = createLogger('test', 'silent') as Logger
  logger.error = (line: unknown) => void lines.push(String(line))
  const reader = envReader({ SVC_NATS_URL_FILE: path })
  const { natsUrl, natsAccess } = readNats(reader)
  reader.check()
  const nats = await connectNats({ url: natsUrl, access: natsAccess, name, logger })
  onTestFinished(() => drainNats(nats, 100))
  return { nats, lines, write, clientId: () => nats.connection.info?.client_id }
}

test('a process moves to the login in its file as soon as the server accepts it, and no call fails', async () => {
  const folder = join((await findTestRun()).folder, 'login-rotation')
  mkdirSync(folder)
  const server = await startConfiguredNats(CONFIG, passwords('nFirst', 'nSecond'))
  onTestFinished(() => server[Symbol.asyncDispose]())
  const urlOf = (user: string, password: string): string => `nats://${user}:${password}@127.0.0.1:${server.port}`
  const budget = await startProcess(folder, 'budget', urlOf('budget', 'nFirst'))
  const gateway = await startProcess(folder, 'gateway', server.urlFor('gateway'))
  // Each answer takes a while, so that calls are always under way.
  const endpoint = handle(double, async ({ value }) => {
    await new Promise((resolve) => setTimeout(resolve, value % 40))
    return { value: value * 2 }
  })
  const { logger } = { logger: createLogger('test', 'silent') }
  const serving = await serve({ nats: budget.nats, name: 'budget', version: '2.0.0', logger, endpoints: [endpoint] })
  let isServing = true
  void serving.failed.then(() => {
    isServing = false
  })
  using bus = createBus(gateway.nats)
  const outcomes: string[] = []
  let stopped = false
  const calling = Array.from({ length: 20 }, async (_, at) => {
    for (let value = at; !stopped; value += 1) {
      const context = { traceparent: newTraceparent(), deadlineMs: Date.now() + 5_000 }
      const outcome = await bus.call(double, { value }, context).catch((error: Error) => error)
      outcomes.push(outcome instanceof Error ? String(outcome) : outcome.value === value * 2 ? 'ok' : 'wrong')
    }
  })
  const more = (count: number) => {
    const target = outcomes.length + count
    return eventually(() => outcomes.length >= target)
  }
  await more(100)

  // The file is changed first, and the server knows the password later.
  const [callee, caller] = [budget.clientId(), gateway.clientId()]
  budget.write(urlOf('budget_b', 'nThird'))
  await eventually(() => budget.lines.length > 0)
  expect(budget.lines).toEqual([
    `NATS at 127.0.0.1:${server.port} refuses the login in SVC_NATS_URL_FILE: compare it with the users of NATS (user budget_b). Until then the process uses the login that it used before.`,
  ])
  await more(100)
  expect(budget.clientId()).toBe(callee)
  server.reload(passwords('nFirst', 'nThird'))
  gateway.write(server.urlFor('gateway_b'))
  await eventually(() => budget.clientId() !== callee && gateway.clientId() !== caller, { timeoutMs: 30_000 })
  await more(100)

  // Nothing uses the first login any more, so its password can change.
  server.reload(passwords('nFourth', 'nThird'))
  await more(200)
  expect([...new Set(outcomes)]).toEqual(['ok'])
  expect(isServing).toBe(true)

  // A login of another service is refused, and so is one that nobody has. If the connection is lost meanwhile, the earlier login is used.
  budget.write(server.urlFor('identity'))
  await eventually(() => budget.lines.some((line) => line.includes('which has the user identity: a process keeps')))
  budget.write(urlOf('budget_b', 'nWrong'))
  await server.restart(CONFIG)
  await eventually(async () => {
    await budget.nats.connection.flush()
    return budget.nats.isConnected() && gateway.nats.isConnected()
  })
  await eventually(() => outcomes.at(-1) === 'ok')
  stopped = true
  await Promise.all(calling)
  expect(budget.lines.join()).not.toContain('nWrong')
  await serving.drain()
})
