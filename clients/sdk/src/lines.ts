/** Runs jobs: those of one line one after the other, and at most a number of jobs at a time. The oldest job that may run is next. */
export class Lines {
  #limit: number
  readonly #waiting: { readonly line: string; readonly run: () => Promise<void> }[] = []
  readonly #busy = new Set<string>()
  readonly #resting = new Set<string>()
  readonly #returning: (() => void)[] = []
  #changed = Promise.withResolvers<void>()

  constructor(limit: number) {
    this.#limit = limit
  }

  /** Jobs that wait or run. */
  get size(): number {
    return this.#waiting.length + this.#busy.size
  }

  /** Jobs that could run if there were places: those of lines that do not rest. */
  get ready(): number {
    return this.#waiting.filter(({ line }) => !this.#resting.has(line)).length + this.#busy.size - this.#resting.size
  }

  resize(limit: number): void {
    this.#limit = limit
    this.#start()
  }

  /** Jobs of one line that wait. */
  count(line: string): number {
    return this.#waiting.filter((job) => job.line === line).length
  }

  /** Runs a job when it is its turn. @returns its result. */
  run<T>(line: string, job: () => Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.add(line, () => job().then(resolve, reject))
    })
  }

  /** @param run never rejects. */
  add(line: string, run: () => Promise<void>): void {
    this.#waiting.push({ line, run })
    this.#start()
  }

  /** Gives the place of a running job to another line until the wait is over. Its own line waits with it. */
  async rest<T>(line: string, wait: Promise<T>): Promise<T> {
    this.#resting.add(line)
    this.#start()
    this.#report()
    try {
      return await wait
    } finally {
      await new Promise<void>((resolve) => {
        this.#returning.push(() => {
          this.#resting.delete(line)
          resolve()
        })
        this.#start()
      })
    }
  }

  /** Resolves when the next job has ended, or rests. */
  change(): Promise<void> {
    return this.#changed.promise
  }

  /** Resolves when no job waits or runs. */
  async idle(): Promise<void> {
    while (this.size > 0) await this.change()
  }

  #start(): void {
    while (this.#busy.size - this.#resting.size < this.#limit) {
      const goOn = this.#returning.shift()
      if (goOn !== undefined) {
        goOn()
        continue
      }
      const at = this.#waiting.findIndex(({ line }) => !this.#busy.has(line))
      const [job] = at < 0 ? [] : this.#waiting.splice(at, 1)
      if (job === undefined) return
      this.#busy.add(job.line)
      void job.run().finally(() => {
        this.#busy.delete(job.line)
        this.#start()
        this.#report()
      })
    }
  }

  #report(): void {
    this.#changed.resolve()
    this.#changed = Promise.withResolvers<void>()
  }
}
