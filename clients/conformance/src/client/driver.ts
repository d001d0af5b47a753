import { Adapter, type AdapterReply } from './adapter.ts'

/** How long an operation may take, in seconds, unless the step says otherwise. */
const STEP_SECONDS = 30

/** What a case needs of an adapter. */
export interface Driver {
  request(operation: string, args: object, seconds?: number): Promise<AdapterReply>
  /** Kills the client. It starts again with the next request. */
  stop(): Promise<void>
}

/** The adapter does not work at all, so that no case can be judged. */
export class AdapterError extends Error {}

/** An adapter that is started anew if it has ended, or was given up. */
export class AdapterDriver implements Driver, AsyncDisposable {
  readonly #command: readonly string[]
  #adapter: Adapter | undefined
  #hasAnswered = false

  constructor(command: readonly string[]) {
    this.#command = command
  }

  async request(operation: string, args: object, seconds = STEP_SECONDS): Promise<AdapterReply> {
    this.#adapter ??= new Adapter(this.#command)
    try {
      const reply = await this.#adapter.request(operation, { ...args }, seconds * 1000)
      this.#hasAnswered = true
      if (reply === 'late') await this.stop()
      return reply
    } catch (error) {
      await this.stop()
      throw this.#hasAnswered ? error : new AdapterError((error as Error).message)
    }
  }

  async stop(): Promise<void> {
    const adapter = this.#adapter
    this.#adapter = undefined
    await adapter?.[Symbol.asyncDispose]()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
