/** The clock of subscriptions and their deliveries, and how often deliveries look for work. */
export interface Times {
  nowMs(): number
  /** Interval between looks at the folder, which other processes write to. A look renews the lease too. */
  readonly lookMs: number
}

export const TIMES: Times = { nowMs: Date.now, lookMs: 1_000 }
