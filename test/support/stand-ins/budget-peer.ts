/** A stand-in for the budget service, on a real NATS, because a service's tests never start another service. */
import { listOverdue, release, reserve, settle, settleSoon } from '@svc/contracts/budget.ts'
import { type ErrorCode, ServiceError } from '@svc/contracts/errors.ts'
import { handle } from '@svc/nats/serve.ts'
import { type Peer, startPeer } from './peer.ts'

export interface BudgetPeer extends Peer {
  /** Reserved or settled units, by agent. */
  usedBy(agentId: string): number
  /** The number of reservations so far, and of those that are neither settled nor released. */
  readonly reserved: number
  readonly held: number
  /** The error that the next reservations are refused with. */
  refusal: ErrorCode | undefined
  /** Called before a reservation is answered. */
  beforeAnswer: () => Promise<void> | void
  /** How long reservations are held, instead of the requested time. */
  holdMs: number | undefined
}

interface Reservation {
  agentId: string
  units: number
  deadlineMs: number
  settled: boolean
}

export async function startBudgetPeer(natsUrl: string): Promise<BudgetPeer> {
  const reservations = new Map<string, Reservation>()
  let reserved = 0
  const settleOne = (operation: string): void => {
    const reservation = reservations.get(operation)
    if (reservation !== undefined) reservation.settled = true
  }
  const peer = await startPeer(natsUrl, 'budget', [
    handle(reserve, async ({ operation, agent_id: agentId, units, hold_ms }) => {
      if (self.refusal !== undefined) throw new ServiceError(self.refusal, { retryAfterSeconds: 60 })
      const deadlineMs = Date.now() + (self.holdMs ?? hold_ms)
      reserved += 1
      reservations.set(operation, { agentId, units, deadlineMs, settled: false })
      await self.beforeAnswer()
      return { deadline_ms: deadlineMs, settled: false, shared: false }
    }),
    handle(settle, async ({ operation }) => {
      settleOne(operation)
      return {}
    }),
    handle(settleSoon, async ({ operations }) => {
      for (const operation of operations) settleOne(operation)
      return {}
    }),
    handle(release, async ({ operation, deadline_ms }) => {
      const reservation = reservations.get(operation)
      if (reservation?.settled === false && reservation.deadlineMs <= deadline_ms) reservations.delete(operation)
      return {}
    }),
    handle(listOverdue, async ({ limit }) => {
      const overdue = [...reservations].filter(([, one]) => !one.settled && one.deadlineMs < Date.now())
      return {
        reservations: overdue
          .slice(0, limit)
          .map(([operation, { deadlineMs }]) => ({ operation, deadline_ms: deadlineMs })),
      }
    }),
  ])
  const all = (): Reservation[] => [...reservations.values()]
  const self: BudgetPeer = {
    ...peer,
    usedBy: (agentId) => all().reduce((sum, one) => sum + (one.agentId === agentId ? one.units : 0), 0),
    get reserved() {
      return reserved
    },
    get held() {
      return all().filter((one) => !one.settled).length
    },
    refusal: undefined,
    beforeAnswer: () => {},
    holdMs: undefined,
  }
  return self
}
