export interface Finding {
  readonly check: string
  readonly result: 'ok' | 'warning' | 'failed' | 'skipped'
  /** One sentence. If the result is not ok, it also says what to do. */
  readonly says: string
}

export function ok(check: string, says: string): Finding {
  return { check, result: 'ok', says }
}

export function warning(check: string, says: string): Finding {
  return { check, result: 'warning', says }
}

export function failed(check: string, says: string): Finding {
  return { check, result: 'failed', says }
}

export function skipped(check: string, says: string): Finding {
  return { check, result: 'skipped', says }
}
