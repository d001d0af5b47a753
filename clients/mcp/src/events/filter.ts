import { ProtocolError } from '@modelcontextprotocol/server'
import type { Event } from '@svc/contracts/resources.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import { isAgentId } from '@svc/svc1/agent-id.ts'
import type { Mailbox } from '../mailbox.ts'
import { explainError } from '../output/explain-error.ts'
import { ToolError } from '../output/tool-error.ts'
import { argumentFault } from '../tools/argument-faults.ts'
import { readArguments } from '../tools/arguments.ts'
import { createBorder } from '../tools/border.ts'
import { checkOf } from '../tools/json-schema.ts'
import { eventError } from './event-errors.ts'
import { ARGUMENTS, type Wanted } from './event-type.ts'

const SCHEMA = checkOf<Wanted>(ARGUMENTS)

/** @throws ProtocolError InvalidParams. */
export async function readWanted(mailbox: Mailbox, given: unknown): Promise<Wanted> {
  const args = readArguments(ARGUMENTS, given ?? {})
  const fault = argumentFault(ARGUMENTS, args)
  if (fault !== undefined) throw eventError('InvalidParams', fault)
  const result = await SCHEMA['~standard'].validate(args)
  if (result.issues !== undefined) {
    throw eventError('InvalidParams', `arguments: ${result.issues.map(({ message }) => message).join('; ')}`)
  }
  try {
    return createBorder(mailbox).read(ARGUMENTS, result.value)
  } catch (error) {
    if (error instanceof ToolError) throw eventError('InvalidParams', error.message)
    throw error
  }
}

/** Tells the events that a subscription wants. */
export type Filter = (event: Event, signal: AbortSignal) => Promise<boolean>

/** @throws ProtocolError InvalidParams if no agent has the name given as `sender`. */
export async function createFilter(mailbox: Mailbox, wanted: Wanted, signal: AbortSignal): Promise<Filter> {
  const { lanes = [], board, thread, type } = wanted
  const sender = wanted.sender === undefined ? undefined : await idOf(mailbox, wanted.sender, signal)
  return async ({ kind, message: { envelope } }, of) => {
    if (lanes.length > 0 && !lanes.includes(kind)) return false
    if (board !== undefined && envelope.to !== `board:${board}`) return false
    if (thread !== undefined && envelope.id !== thread && envelope.thread_id !== thread) return false
    if (type !== undefined && envelope.type !== type) return false
    return sender === undefined || (await senderIdOf(mailbox, envelope.from, of)) === sender
  }
}

async function idOf({ senders }: Mailbox, sender: string, signal: AbortSignal): Promise<string> {
  if (isAgentId(sender)) return sender
  try {
    return (await senders.ofName(sender, signal)).agentId
  } catch (error) {
    if (error instanceof ProtocolError || !(error instanceof ToolError)) throw error
    throw eventError('InvalidParams', `sender: ${explainError(error).text}`)
  }
}

async function senderIdOf({ senders }: Mailbox, from: string, signal: AbortSignal): Promise<string | undefined> {
  if (isAgentId(from)) return from
  try {
    return (await senders.ofSender(from, signal))?.agentId
  } catch (error) {
    // Another key than the pinned one: the message is not of the wanted sender.
    if (error instanceof VerificationError) return undefined
    throw error
  }
}
