/** The programs of docs/guides/answering.md and requests.md, against a system. The first one is killed at random under load. */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes, randomInt } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { AgentClient } from '@svc/sdk/client.ts'
import { generateKey } from '@svc/sdk/keys.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { type SharedSystem, shareSystem } from '@svc/test/support/system/shared-system.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { collect } from './agents.ts'

const run = promisify(execFile)
const example = (name: string): string => fileURLToPath(new URL(`../examples/${name}`, import.meta.url))
/** SVC_FAULTS=long kills for five minutes. */
const SECONDS = Number(process.env.SVC_ANSWERING_SECONDS ?? (process.env.SVC_FAULTS === 'long' ? 300 : 15))
const ASKERS = 4
/** Requests of an asker that may be unanswered when it sends as many more. */
const AHEAD = 20
/** The longest life of a process, in times that a process needs to start and to answer. So many die before they have started. */
const LONGEST_LIFE = 3
const MIN_KILLS = 5

let system: SharedSystem
const folder = mkdtempSync(join(tmpdir(), 'svc-answering-'))
beforeAll(async () => {
  system = await shareSystem('roomy')
})
afterAll(async () => {
  await system?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the program of the guide until it is killed. */
class AnsweringAgent {
  readonly name = `echo-${randomBytes(5).toString('hex')}`
  /** What it wrote to stderr. */
  log = ''
  kills = 0
  #child: ChildProcess | undefined

  start(): ChildProcess {
    const env = { ...ENVIRONMENT, SVC_URL: system.urls[0] }
    this.#child = spawn(process.execPath, [example('answering-agent.ts'), this.name], { cwd: folder, env })
    this.#child.stderr?.on('data', (chunk: Buffer) => {
      this.log += chunk.toString()
    })
    return this.#child
  }

  async kill(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGKILL')
    this.kills += 1
    await once(child, 'exit')
  }

  /** Kills the process at random moments, and starts another one each time, until the signal aborts. The last one lives. */
  async dieOften(signal: AbortSignal, longestMs: number): Promise<void> {
    while (!signal.aborted) {
      await sleep(randomInt(longestMs), undefined, { signal }).catch(() => undefined)
      await this.kill()
      this.start()
    }
  }
}

/** Whether an asker may go on. Each answer is one event. So it asks as fast as the agent and the machine can answer. */
async function isAlmostAnswered(client: AgentClient, asked: number): Promise<boolean> {
  return (await client.latestCursor()) >= asked - AHEAD
}

async function asker(at: number): Promise<AgentClient> {
  const client = new AgentClient({ url: system.urls[at % system.urls.length] ?? '', key: generateKey() })
  await client.register(`asker-${randomBytes(5).toString('hex')}`)
  return client
}

test('requests.md: the example asks the agent of answering.md', { timeout: 120_000 }, async () => {
  const agent = new AnsweringAgent()
  agent.start()
  try {
    await eventually(() => new AgentClient({ url: system.urls[0] ?? '' }).lookup(agent.name))
    const env = { ...ENVIRONMENT, SVC_URL: system.urls[0] }
    const { stdout } = await run(process.execPath, [example('asking.ts'), agent.name], { env })
    const guide = readFileSync(new URL('../../../docs/guides/requests.md', import.meta.url), 'utf8')
    const [, shown = ''] = /```text\n([\s\S]*?)```/.exec(guide) ?? []
    expect(stdout.replace(/alice-\w+/, '<alice>')).toBe(shown)
  } finally {
    await agent.kill()
  }
})

test(`answering.md: killed at random for ${SECONDS} s under load, the agent answers every request exactly once`, {
  timeout: (SECONDS + 400) * 1_000,
}, async () => {
  const agent = new AnsweringAgent()
  const stop = new AbortController()
  let dying = Promise.resolve()
  try {
    const askers = await Promise.all(Array.from({ length: ASKERS }, (_, at) => asker(at)))
    // The agent accepts a stranger with its first answer. Later messages are those of a friend.
    const introduce = async (client: AgentClient): Promise<string> =>
      (await client.request(agent.name, 'hello', { timeoutMs: 120_000, seal: true })).threadId
    const startedMs = Date.now()
    agent.start()
    await eventually(() => new AgentClient({ url: system.urls[0] ?? '' }).lookup(agent.name))
    const [first = expect.unreachable(), ...others] = askers
    const introduced = [await introduce(first)]
    // A slow machine needs longer lives.
    dying = agent.dieOften(stop.signal, LONGEST_LIFE * (Date.now() - startedMs))
    introduced.push(...(await Promise.all(others.map(introduce))))
    const asking = askers.map(async (client, at) => {
      const asked = [introduced[at] ?? expect.unreachable()]
      while (!stop.signal.aborted) {
        const n = asked.length
        const draft = { to: agent.name, body: { n }, type: n % 2 === 0 ? 'request' : 'event' } as const
        asked.push((await client.send(draft, { seal: n % 3 === 0 })).msg_id)
        await sleep(randomInt(0, 200))
        const mayAsk = (): Promise<boolean> => isAlmostAnswered(client, n)
        if (n % AHEAD === 0)
          await eventually(async () => stop.signal.aborted || (await mayAsk()), { timeoutMs: 120_000 })
      }
      return asked
    })
    const all = Promise.all(asking)
    const often = async (): Promise<void> => {
      await sleep(SECONDS * 1_000)
      await eventually(() => agent.kills >= MIN_KILLS, { timeoutMs: 240_000 })
    }
    await Promise.race([all, often()])
    stop.abort()
    const asked = await all
    await dying
    for (const [at, client] of askers.entries()) {
      const wanted = asked[at] ?? []
      const answers = await eventually(
        async () => {
          expect(await client.latestCursor()).toBeGreaterThanOrEqual(wanted.length)
          const inbox = await collect(client.inbox({ pageSize: 100 }))
          expect(new Set(inbox.map(({ envelope }) => envelope.reply_to)).size).toBe(wanted.length)
          return inbox
        },
        { timeoutMs: 120_000 },
      ).catch((cause: unknown) => {
        throw new Error(`not everything was answered; the agent wrote:\n${agent.log}`, { cause })
      })
      expect(answers.map(({ envelope }) => envelope.reply_to).toSorted()).toEqual(wanted.toSorted())
      expect(await collect(client.inbox({ lane: 'requests' }))).toEqual([])
      const last = answers.at(-1) ?? expect.unreachable()
      expect(await client.open(last)).toMatchObject({ verified: true, sender: { name: agent.name } })
    }
    if (SECONDS > 60) console.log(`${agent.kills} kills, ${asked.flat().length} answers`)
  } finally {
    stop.abort()
    await dying
    await agent.kill()
  }
})
