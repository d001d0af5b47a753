import { setTimeout as sleep } from 'node:timers/promises'
import type { Agent } from './agent.ts'
import { untilAnswered } from './retrying.ts'

/**
 * Agents that send without a pause. Each repeats a message with the same id until it knows that the message was accepted
 * (spec 13.2).
 */
export interface Senders {
  /** Ids in the order of their acceptance, by sender. */
  readonly accepted: ReadonlyMap<Agent, readonly string[]>
  /** Waits until one sender gets an acceptance after this call. */
  untilOneAccepted(): Promise<void>
  /** Waits until every sender gets an acceptance after this call. */
  untilEachAccepted(): Promise<void>
  /** Lets each sender finish its current message. @throws the first answer that is neither an acceptance nor 503. */
  stop(): Promise<void>
}

const PAUSE_MS = 10
const POLL_MS = 5

/** @param pairs sender and recipient. The recipient's inbox must be open. */
export function startSenders(pairs: readonly (readonly [Agent, Agent])[]): Senders {
  const accepted = new Map<Agent, string[]>(pairs.map(([sender]) => [sender, []]))
  let isSending = true
  let failure: Error | undefined
  const sending = pairs.map(async ([sender, recipient]) => {
    while (isSending) {
      const envelope = sender.envelope(recipient)
      const { status, text } = await untilAnswered(() => sender.post('/v2/messages', envelope))
      if (status !== 200 && status !== 202) throw new Error(`${status} ${text}`)
      accepted.get(sender)?.push(envelope.id)
      await sleep(PAUSE_MS)
    }
  })
  for (const one of sending)
    one.catch((error: Error) => {
      failure ??= error
    })
  const until = async (isEnough: (waiting: number) => boolean): Promise<void> => {
    const before = [...accepted.values()].map((ids) => [ids, ids.length] as const)
    while (!isEnough(before.filter(([ids, count]) => ids.length === count).length)) {
      if (failure !== undefined) throw failure
      await sleep(POLL_MS)
    }
  }
  return {
    accepted,
    untilOneAccepted: () => until((waiting) => waiting < pairs.length),
    untilEachAccepted: () => until((waiting) => waiting === 0),
    async stop() {
      isSending = false
      await Promise.all(sending)
    },
  }
}
