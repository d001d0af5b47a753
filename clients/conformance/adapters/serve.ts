/** The protocol of docs/guides/conformance-clients.md for adapters in TypeScript: one request a line in, one answer a line out. */
import { createInterface } from 'node:readline'

/** What an operation is given: `base_url`, `to`, `after` and so on. */
// biome-ignore lint/suspicious/noExplicitAny: it comes from JSON, and the page says what it holds
export type Given = any
type Operations = Readonly<Record<string, (given: Given) => Promise<object | undefined>>>

/** The client cannot do what it was asked. The message says what. */
export class Unsupported extends Error {}

/** Answers requests one after the other, until the input ends. An error's `code` is told. */
export async function serve(operations: Operations): Promise<void> {
  for await (const line of createInterface({ input: process.stdin })) {
    const { id, do: name, ...given } = JSON.parse(line)
    const answer = await answerOf(operations[name], given)
    process.stdout.write(`${JSON.stringify({ id, ...answer })}\n`)
  }
}

async function answerOf(operation: Operations[string] | undefined, given: Given): Promise<object> {
  if (operation === undefined) return { unsupported: true }
  try {
    return { ok: (await operation(given)) ?? {} }
  } catch (error) {
    if (error instanceof Unsupported) return { unsupported: error.message }
    const { code, reason, name, message } = error as Error & { code?: string; reason?: string }
    return { error: { code: String(code ?? reason ?? name), message } }
  }
}
