import { setTimeout as sleep } from 'node:timers/promises'
import { AUDITED, type AuditEntry, type Audited, listAudit } from '@svc/contracts/admin.ts'
import type { Operator } from './operator.ts'

/** An entry, and the service that keeps it. */
export type ServiceAuditEntry = AuditEntry & { readonly service: Audited }

interface AuditQuery {
  readonly target?: string
  readonly operator?: string
  /** The newest entries of each service, unless `all`. */
  readonly limit: number
  readonly all?: boolean
  /** Go on with entries that are written later. */
  readonly follow?: boolean
}

const PAGE = 500
const FOLLOW_MS = 1_000

/** Yields entries of all services, by time within each batch. @throws OperatorNetworkError if a service does not answer. */
export async function* readAudit(
  ask: Operator['ask'],
  { target, operator, limit, all = false, follow = false }: AuditQuery,
  signal: AbortSignal,
): AsyncGenerator<ServiceAuditEntry[]> {
  const filter = { target: target ?? null, operator: operator ?? null }
  const after = new Map<Audited, number>(AUDITED.map((service) => [service, 0]))
  const read = async (service: Audited, newest: boolean): Promise<ServiceAuditEntry[]> => {
    const entries: ServiceAuditEntry[] = []
    for (;;) {
      signal.throwIfAborted()
      const size = newest ? limit : PAGE
      const request = { after: after.get(service) ?? 0, limit: size, newest, ...filter }
      const page = await ask(listAudit(service), request)
      entries.push(...page.entries.map((entry) => ({ service, ...entry })))
      const last = page.entries.at(-1)
      if (last !== undefined) after.set(service, last.id)
      if (newest || page.entries.length < size) return entries
    }
  }
  for (let newest = !all; ; newest = false) {
    const found = await Promise.all(AUDITED.map((service) => read(service, newest)))
    yield found.flat().toSorted((a, b) => a.at_ms - b.at_ms || a.id - b.id)
    if (!follow) return
    await sleep(FOLLOW_MS, undefined, { signal })
  }
}
