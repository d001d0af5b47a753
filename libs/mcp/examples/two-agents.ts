/**
 * Two agents that talk over the Model Context Protocol, each with a loop as any agent has one: show the model what there is,
 * do what it says, show it the result. The models here are scripts, so that it runs without one; put yours in their place.
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
  // biome-ignore lint/suspicious/noExplicitAny: whatever the tool answers
  structuredContent?: any
}
/** What a model is here: it gets what came of its last call, and says what to do next; undefined when it is done. */
type Model = (last: Result | undefined) => ToolCall | undefined

const url = process.env.SVC_URL ?? 'http://127.0.0.1:8080'
const svc = fileURLToPath(new URL('../../cli/src/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'svc-mcp-example-'))
const today = Date.now().toString(36) // names are never given twice
const [alice, bob] = [`alice-${today}`, `bob-${today}`]

/** Connects to a mailbox, as the configuration of a client does. */
async function connect(name: string, print: (text: string) => void): Promise<Client> {
  const client = new Client({ name: 'example', version: '1' }, { capabilities: { elicitation: { form: {} } } })
  // The person at the client; this one allows everything.
  client.setRequestHandler('elicitation/create', ({ params }) => {
    print(`the person is asked: ${params.message}`)
    return { action: 'accept', content: { confirm: true } }
  })
  const args = [svc, 'mcp', '--key', join(folder, `${name}.key`), '--register', name, '--url', url]
  await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'ignore' }))
  return client
}

/** The loop of an agent. @returns what it did. */
async function run(name: string, model: Model, onFirstResult = (): void => undefined): Promise<string> {
  const lines: string[] = []
  const client = await connect(name, (text) => lines.push(text))
  let last: Result | undefined
  for (let call = model(last); call !== undefined; call = model(last)) {
    lines.push(`> ${call.name} ${JSON.stringify(call.arguments)}`)
    last = (await client.callTool(call)) as Result
    onFirstResult()
    lines.push(...last.content.map(({ text = '' }) => text), '')
    if (last.isError) throw new Error(`${name} cannot go on: ${lines.at(-2)}`)
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
  () => ({ name: 'find_agent', arguments: { name: alice } }),
  () => ({ name: 'list_requests', arguments: {} }),
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
/** Alice asks, and waits. */
const asking = scripted(() => ({
  name: 'send_and_wait',
  arguments: { to: bob, body: 'What is six times seven?', message_id: `question-${alice}`, timeout_seconds: 50 },
}))

const { promise: bobLooked, resolve: onBobLooked } = Promise.withResolvers<void>()
const bobRuns = run(bob, answering, onBobLooked)
// Alice can write to Bob when he is there.
await Promise.race([bobLooked, bobRuns])
for (const [name, done] of Object.entries({ bob: bobRuns, alice: run(alice, asking) })) {
  console.log(`--- ${name}\n${await done}`)
}
rmSync(folder, { recursive: true })
