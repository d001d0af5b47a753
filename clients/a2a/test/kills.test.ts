/** Both sidecars, the gateway and the agent are killed at random, while a client of A2A's own SDK gives tasks to the agent. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import { AgentClient } from '@svc/sdk/client.ts'
import { type AgentKey, formatKey, generateKey } from '@svc/sdk/keys.ts'
import { findTestRun, takePorts } from '@svc/test/support/engines/engines.ts'
import { eventually } from '@svc/test/support/eventually.ts'
import { ENVIRONMENT } from '@svc/test/support/run/environment.ts'
import { findSvc } from '@svc/test/support/run/svc.ts'
import { ONE_OF_EACH, startSystem, type TestSystem } from '@svc/test/support/system/system.ts'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { textOf } from './echo-agent.ts'
import { connect, saying } from './sidecar.ts'

const TASKS = 12
const ECHO = fileURLToPath(new URL('echo-agent.ts', import.meta.url))
const TOKEN = 'x'.repeat(40)
const ENDED = [TaskState.TASK_STATE_COMPLETED, TaskState.TASK_STATE_REJECTED]

const stack = new AsyncDisposableStack()
let system: TestSystem
let folder: string
let svc: string
beforeAll(async () => {
  system = stack.use(await startSystem({ replicas: ONE_OF_EACH }))
  svc = await findSvc()
  folder = mkdtempSync(join((await findTestRun()).folder, 'a2a-'))
  stack.defer(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'token'), TOKEN, { mode: 0o600 })
})
afterAll(() => stack.disposeAsync())

async function register(name: string): Promise<{ client: AgentClient; key: AgentKey; keyPath: string; name: string }> {
  const key = generateKey()
  const client = new AgentClient({ url: system.urls[0] ?? '', key })
  await client.register(name)
  const keyPath = join(folder, name)
  writeFileSync(keyPath, `${formatKey(key)}\n`, { mode: 0o600 })
  return { client, key, keyPath, name }
}

/** A program that is started again after it was killed. */
class Program implements AsyncDisposable {
  readonly #port: number
  readonly #args: readonly string[]
  #child: ChildProcess

  /** @param port that it listens on. */
  constructor(port: number, ...args: readonly string[]) {
    this.#port = port
    this.#args = args
    this.#child = this.#start()
  }

  #start(): ChildProcess {
    return spawn(process.execPath, this.#args, { env: ENVIRONMENT, stdio: 'ignore' })
  }

  async kill(): Promise<void> {
    if (this.#child.exitCode === null && this.#child.kill('SIGKILL')) await once(this.#child, 'exit')
  }

  async restart(): Promise<void> {
    await this.kill()
    this.#child = this.#start()
    const answers = (): Promise<unknown> => fetch(`http://127.0.0.1:${this.#port}`)
    await eventually(answers, { timeoutMs: 60_000, what: `${this.#args} on port ${this.#port}` })
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.kill()
  }
}

test.each([
  ['both sidecars and the gateway', false],
  ['both sidecars, the gateway and the agent', true],
])('%s are killed: every task ends once, in the right state', { timeout: 300_000 }, async (_, agentToo) => {
  const suffix = agentToo ? 'b' : 'a'
  const [near, far] = await Promise.all([register(`near-${suffix}`), register(`far-${suffix}`)])
  await Promise.all([near.client.setContact(far.name, 'accepted'), far.client.setContact(near.name, 'accepted')])
  const executed = join(folder, `executed-${suffix}`)
  const [nearPort, farPort, agentPort] = [await takePorts(), await takePorts(), await takePorts()]
  await using agent = new Program(agentPort, ECHO, String(agentPort), executed)
  const sidecar = (port: number, keyPath: string, ...more: string[]): Program => {
    const options = ['--port', String(port), '--token-file', join(folder, 'token'), '--wait', '5', ...more]
    return new Program(port, svc, '--url', system.urls[0] ?? '', '--key', keyPath, 'a2a', ...options)
  }
  await using nearSidecar = sidecar(nearPort, near.keyPath)
  await using farSidecar = sidecar(farPort, far.keyPath, '--agent', `http://127.0.0.1:${agentPort}/`)

  /** Repeats a call of the local client, which gets no answer while its sidecar is away. */
  async function persist<T>(call: (client: Awaited<ReturnType<typeof connect>>) => Promise<T>): Promise<T> {
    const place = { url: `http://127.0.0.1:${nearPort}`, token: TOKEN }
    let result: { value: T } | undefined
    await eventually(
      async () => {
        result = { value: await call(await connect(place, far.name)) }
        return true
      },
      { timeoutMs: 120_000, what: 'an answer of the sidecar' },
    )
    if (result === undefined) throw new Error('there is an answer')
    return result.value
  }

  const killed: string[] = []
  let isOver = false
  /** Kills one after the other of these, at random, while others kill others. */
  async function killAny(victims: Record<string, () => Promise<unknown>>): Promise<void> {
    while (!isOver) {
      await sleep(300 + Math.random() * 1_500)
      const [name, kill] = Object.entries(victims).toSorted(() => Math.random() - 0.5)[0] ?? []
      killed.push(name ?? '')
      await kill?.()
    }
  }
  const killers = Promise.all([
    killAny({
      near: () => nearSidecar.restart(),
      gateway: () => system.kill('gateway-1').then(() => system.start('gateway-1')),
    }),
    killAny({ far: () => farSidecar.restart(), ...(agentToo ? { agent: () => agent.restart() } : {}) }),
  ])
  const sent: { params: SendMessageRequest; id: string }[] = []
  try {
    for (let at = 0; at < TASKS; at += 1) {
      const params = saying(`slowly task ${at}`, { now: true })
      sent.push({ params, id: ((await persist((client) => client.sendMessage(params))) as Task).id })
    }
  } finally {
    isOver = true
    await killers
  }

  for (const { params, id } of sent) {
    const read = (): Promise<Task> => persist((client) => client.getTask({ tenant: '', id }))
    const isEnded = async (): Promise<boolean> => ENDED.includes((await read()).status?.state as TaskState)
    await eventually(isEnded, { timeoutMs: 120_000, what: `an end of task ${id} after kills of ${killed}` })
    const task = await read()
    const isDone = task.status?.state === TaskState.TASK_STATE_COMPLETED
    // An agent that keeps its tasks in memory loses them.
    if (!isDone)
      expect({ agentToo, why: textOf(task.status?.message?.parts ?? []) }).toEqual({
        agentToo: true,
        why: expect.stringContaining('has lost the task'),
      })
    else expect(textOf(task.artifacts[0]?.parts ?? [])).toBe(`${textOf(params.message?.parts ?? [])} `)
    expect(await persist((client) => client.sendMessage(params))).toEqual(task)
  }
  const runs = existsSync(executed) ? readFileSync(executed, 'utf8').trim().split('\n') : []
  expect(killed.length).toBeGreaterThan(3)
  expect(new Set(runs)).toEqual(new Set(sent.map(({ id }) => id)))
  if (!agentToo) expect(runs).toHaveLength(TASKS)
})
