/** Takes one client through one case. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { CaseResult } from '../result.ts'
import type { AdapterReply } from './adapter.ts'
import type { ClientCase, Step } from './case.ts'
import { filledIn, memberOf } from './cast.ts'
import { AdapterError, type Driver } from './driver.ts'
import { judgeReply, judgeRequests } from './judge.ts'
import { composed, type Forgery, type MessageDraft } from './messages.ts'
import { ScriptedService } from './service.ts'

/** A program may be loaded first, on a busy machine. */
const START_SECONDS = 90

class Skipped extends Error {}

export async function runCase(one: ClientCase, driver: Driver): Promise<CaseResult> {
  const startedMs = Date.now()
  await using service = await ScriptedService.start(one)
  const folder = await mkdtemp(join(tmpdir(), 'svc-client-'))
  let status: CaseResult['status'] = 'passed'
  let problems: string[] = []
  try {
    const wrong = await take(one, driver, service, folder)
    const faults = service.seen.flatMap(({ route, faults }) => faults.map((fault) => `${route}: ${fault}`))
    // A wrong answer often follows from a wrong request, so the requests are told first.
    problems = [...new Set([...faults, ...wrong])]
    if (problems.length > 0) status = 'failed'
  } catch (error) {
    if (error instanceof AdapterError) throw error
    status = error instanceof Skipped ? 'skipped' : 'failed'
    problems = [(error as Error).message]
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
  const advice = one.level === 'should' && status === 'failed' ? 'recommended, not demanded: ' : ''
  return {
    id: one.id,
    title: one.title,
    spec: one.spec,
    status,
    reason: problems.length === 0 ? undefined : advice + problems.slice(0, 4).join('; '),
    exchanges: service.seen.map(({ exchange }) => exchange),
    milliseconds: Date.now() - startedMs,
  }
}

async function take(one: ClientCase, driver: Driver, service: ScriptedService, folder: string): Promise<string[]> {
  const { name, secretKey } = memberOf(one.as)
  const identity = { base_url: service.url, name, secret_key: Buffer.from(secretKey).toString('hex'), folder }
  const start = async (): Promise<AdapterReply> =>
    refusedIfSkipped('start', await driver.request('start', identity, START_SECONDS))
  let started = await start()
  let wrong = judgeReply({ do: 'start', reply: one.start }, started)
  for (const step of one.steps) {
    if (wrong !== undefined) break
    if (step.do === 'restart') {
      if (!(started !== 'late' && 'ok' in started && started.ok.keeps === true))
        throw new Skipped('the client keeps nothing over a restart')
      await driver.stop()
      started = await start()
      wrong = judgeReply({ do: 'start' }, started)
      continue
    }
    const reply = await driver.request(step.do, await argumentsOf(step, one.as), step.within)
    wrong = judgeReply(step, refusedIfSkipped(step.do, reply))
  }
  const judged = await Promise.all(one.expect.map((expected) => judgeRequests(service, expected)))
  return [...(wrong === undefined ? [] : [wrong]), ...judged.flat()]
}

/** @throws Skipped if the adapter cannot do this. */
function refusedIfSkipped(operation: string, reply: AdapterReply): AdapterReply {
  if (reply !== 'late' && 'unsupported' in reply)
    throw new Skipped(`the client does not support ${reply.unsupported === true ? operation : reply.unsupported}`)
  return reply
}

/** A `message` becomes the `envelope` that its sender would have made, or a forger. */
async function argumentsOf({ with: given = {} }: Step, reader: string): Promise<object> {
  const { message, forge, ...rest } = given
  if (message === undefined) return filledIn(rest)
  return { ...filledIn(rest), envelope: await composed(message as MessageDraft, reader, forge as Forgery | undefined) }
}
