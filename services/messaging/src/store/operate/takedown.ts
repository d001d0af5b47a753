import type { Lane } from '@svc/contracts/resources.ts'
import type { Tx } from '@svc/postgres/database.ts'
import { nowSeconds } from '../clock.ts'
import { hasId } from '../place.ts'

interface TargetMessage {
  lane: Lane
  recipient: string
  takenDown: boolean
}

/** Locks a live message until the transaction ends. Undefined if there is none with this id. */
export async function lockMessage(tx: Tx, id: string): Promise<TargetMessage | undefined> {
  const [row] = await tx<TargetMessage[]>`
    select m.lane, m.recipient, m.taken_down as "takenDown" from messaging.messages m
    where ${hasId(tx, id)} and m.expires_at > ${nowSeconds(tx)}
    for no key update`
  return row
}

/** Takes a message down, or shows it again. The caller holds its lock. Its entries stay, so no position changes. */
export async function setTakenDown(tx: Tx, id: string, takenDown: boolean): Promise<void> {
  await tx`update messaging.messages m set taken_down = ${takenDown} where ${hasId(tx, id)}`
}
