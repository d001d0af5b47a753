/**
 * Two agents that talk over the Model Context Protocol. Each has the usual loop of an agent: give the model the last result,
 * make the call that it wants, and repeat. The models are scripts, so that the example runs without a model. Use your own
 * model in their place.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

interface ToolCall {
  name: string
  arguments: Record<string, unknown>
}
interface Result {
  isError?: boolean
  content: { text?: string }[]
  // biome-ignore lint/suspicious/noExplicitAny: depends on the tool
  structuredContent?: any
}
/** A model gets the result of its last call, and returns its next call, or undefined when it is done. */
type Model = (last: Result | undefined) => ToolCall | undefined

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const svc = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-example-'))
const today = Date.now().toString(36) // names are never given twice
const [alice, bob] = [`alice-${today}`, `bob-${today}`]

/** Starts a mailbox like the configuration of a client, and connects to it. */
async function connect(name: string, print: (text: string) => void): Promise<Client> {
  const client = new Client({ name: 'example', version: '1' }, { capabilities: { elicitation: { form: {} } } })
  // The person at the client, who allows everything here.
  client.setRequestHandler('elicitation/create', ({ params }) => {
    print(`the person is asked: ${params.message}`)
    return { action: 'accept', content: { confirm: true } }
  })
  const args = [svc, 'mcp', '--key', join(folder, `${name}.key`), '--register', name, '--url', url]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
  return client
}

/** The loop of an agent. @returns its calls and their results. */
async function run(name: string, model: Model, onFirstResult = (): void => undefined): Promise<string> {
  const lines: string[] = []
  const client = await connect(name, (text) => lines.push(text))
  let last: Result | undefined
  for (let call = model(last); call !== undefined; call = model(last)) {
    lines.push(`> ${call.name} ${JSON.stringify(call.arguments)}`)
    last = (await client.callTool(call)) as Result
    onFirstResult()
    lines.push(...last.content.map(({ text = '' }) => text), '')
    if (last.isError) throw new Error(`${name} cannot continue: ${lines.at(-2)}`)
  }
  await client.close()
  return lines.join('\n')
}

function scripted(...steps: ((last: Result | undefined) => ToolCall)[]): Model {
  return (last) => steps.shift()?.(last)
}

/** Bob answers the first request that arrives. */
const answering = scripted(
  () => ({ name: 'check_inbox', arguments: {} }),
  () => ({ name: 'wait_for_messages', arguments: { timeout_seconds: 50 } }),
  (last) => ({
    name: 'reply',
    arguments: {
      message_id: last?.structuredContent.messages[0].message_id,
      body: 'It is 42.',
      reply_id: `answer-${bob}`,
    },
  }),
  () => ({ name: 'acknowledge', arguments: { message_ids: [`question-${alice}`] } }),
)
/** Alice asks, and waits for the answer. */
const asking = scripted(() => ({
  name: 'send_and_wait',
  arguments: { to: bob, body: 'What is six times seven?', message_id: `question-${alice}`, timeout_seconds: 50 },
}))

const { promise: bobLooked, resolve: onBobLooked } = Promise.withResolvers<void>()
const bobRuns = run(bob, answering, onBobLooked)
// Alice can write to Bob only after he is registered.
await Promise.race([bobLooked, bobRuns])
for (const [name, done] of Object.entries({ bob: bobRuns, alice: run(alice, asking) })) {
  console.log(`--- ${name}\n${await done}`)
}
rmSync(folder, { recursive: true })
