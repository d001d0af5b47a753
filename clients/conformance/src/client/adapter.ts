/** The program that drives a client for the suite: one request a line on its input, one answer a line on its output. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

/** `late`: no answer in time. The adapter is then of no further use. */
export type AdapterReply =
  | { readonly ok: Readonly<Record<string, unknown>> }
  | { readonly error: { readonly code: string } }
  /** `true`, or what the client cannot do. */
  | { readonly unsupported: true | string }
  | 'late'

const STDERR_CHARACTERS = 2_000

export class Adapter implements AsyncDisposable {
  readonly #child: ChildProcess
  readonly #waiting = new Map<number, PromiseWithResolvers<AdapterReply>>()
  #stderr = ''
  #ended: Error | undefined
  #sent = 0

  /** @param command the program and its arguments. */
  constructor([program = '', ...args]: readonly string[]) {
    this.#child = spawn(program, args, { stdio: 'pipe' })
    const { stdin, stdout, stderr } = this.#child
    stderr?.on('data', (chunk) => {
      this.#stderr = (this.#stderr + chunk).slice(-STDERR_CHARACTERS)
    })
    // A program that has ended cannot be written to. `close` says so.
    stdin?.on('error', () => {})
    if (stdout !== null) createInterface({ input: stdout }).on('line', (line) => this.#receive(line))
    this.#child.on('error', (error) => this.#fail(`the adapter cannot be started: ${error.message}`))
    this.#child.on('close', (code, signal) => this.#fail(`the adapter ended with ${code ?? signal}`))
  }

  /** @throws Error if the adapter has ended, or answers with something else than the protocol has. */
  async request(operation: string, args: Readonly<Record<string, unknown>>, timeoutMs: number): Promise<AdapterReply> {
    if (this.#ended !== undefined) throw this.#ended
    const id = ++this.#sent
    const answer = Promise.withResolvers<AdapterReply>()
    this.#waiting.set(id, answer)
    // Node's `readline` takes these two characters for the end of a line.
    const request = JSON.stringify({ id, do: operation, ...args }).replace(/[\u2028\u2029]/g, (one) =>
      one === '\u2028' ? '\\u2028' : '\\u2029',
    )
    this.#child.stdin?.write(`${request}\n`)
    const timer = setTimeout(() => answer.resolve('late'), timeoutMs)
    return answer.promise.finally(() => clearTimeout(timer))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { pid, exitCode, signalCode } = this.#child
    if (pid === undefined || exitCode !== null || signalCode !== null) return
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGKILL')
    await closed
  }

  #receive(line: string): void {
    try {
      const { id, ...reply } = JSON.parse(line)
      const waiting = this.#waiting.get(id)
      if (waiting === undefined) throw new Error('its id is not that of a request')
      if (!('ok' in reply || typeof reply.error?.code === 'string' || 'unsupported' in reply))
        throw new Error('it has neither ok nor error.code nor unsupported')
      waiting.resolve(reply)
    } catch (error) {
      this.#fail(`the adapter printed a line that is no answer (${(error as Error).message}): ${line.slice(0, 200)}`)
    }
  }

  #fail(reason: string): void {
    this.#ended ??= new Error(this.#stderr === '' ? reason : `${reason}; its last words: ${this.#stderr.trim()}`)
    for (const { reject } of this.#waiting.values()) reject(this.#ended)
  }
}
