/** Opens and shows received messages. */
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { Opened } from '@svc/sdk/messages/open.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { nameOrId } from '../arguments.ts'
import type { Context } from '../context.ts'
import { bodyText, indented } from './format.ts'
import type { Line } from './style.ts'

/** The agent ids that `--verify` names. Empty: messages of every sender count as verified whose signature is good. */
type Expected = ReadonlySet<string>

export function addVerifyOption(command: Command): Command {
  const description = 'expect this sender, given by name, address, agent id or public key; may be repeated'
  return command.option('--verify <sender>', description, collect, [])
}

/** Names and addresses are looked up, unless their keys are pinned. A public key is used as given. */
export async function findExpected(
  { signal }: Context,
  client: AgentClient,
  senders: readonly string[],
): Promise<Expected> {
  const ids = new Set<string>()
  for (const sender of senders)
    ids.add(isPublicKey(sender) ? client.trust(sender) : await client.idOf(sender, { signal }))
  return ids
}

export interface Opening {
  /** `verified` is false for a sender that `--verify` does not name. */
  readonly opened: Opened
  /** Whether `--verify` names the sender, or was not given. */
  readonly isExpected: boolean
  /** What it is, if it is not a message for this agent: a post on a board, or a copy of what this agent sent. */
  readonly kind?: string
  readonly isCopy?: boolean
}

/** The result of opening a message. Lists also show messages that could not be opened. */
export type Reading = Opening | { readonly error: VerificationError }

export interface Reader {
  readonly client: AgentClient
  readonly expected: Expected
  readonly signal: AbortSignal
  /** `board:<id>` of the board that a post was read from. If absent, the message must be for this agent. */
  readonly board?: string | undefined
}

export async function readMessage({ client, expected, signal, board }: Reader, message: Message): Promise<Reading> {
  try {
    // Finds the key of an id whose name was pinned by an earlier command.
    await client.nameOf(message.envelope.from)
    const opened = await client.open(message, { allowUnverified: true, to: board, signal })
    const isExpected = expected.size === 0 || expected.has(opened.sender?.agentId ?? '')
    return { opened: { ...opened, verified: opened.verified && isExpected }, isExpected }
  } catch (error) {
    if (error instanceof VerificationError) return { error }
    throw error
  }
}

/** Reads a message that came as an event, or was asked for by its id. Of a post, only its `to` says on which board it is. */
export async function readAnywhere(reader: Reader, message: Message): Promise<Reading> {
  const { lane, envelope } = message
  const board = lane === 'board' && envelope.to.startsWith('board:') ? envelope.to : undefined
  const reading = await readMessage({ ...reader, board }, message)
  return board === undefined || 'error' in reading ? reading : { ...reading, kind: `a post on ${board}` }
}

/** Reads a message that the user asked for by its id: also a copy of one that this agent sent to another. */
export async function readNamed(reader: Reader, message: Message): Promise<Reading> {
  const { client, expected, signal } = reader
  const { to } = message.envelope
  const reading = await readAnywhere(reader, message)
  if ('opened' in reading) {
    // A user who names a sender wants only messages of that sender.
    return expected.size === 0 || reading.opened.verified ? reading : { error: refusalOf(message, reading) }
  }
  if (reading.error.reason !== 'addressed_to_another') return reading
  const opened = await client.open(message, { to, allowUnverified: true, signal })
  if (!opened.verified || opened.sender?.agentId !== client.key?.agentId) return reading
  // Only this agent can have signed it. It is still no message to this agent, so it does not count as verified.
  return {
    opened: { ...opened, verified: false },
    isExpected: true,
    kind: `a copy of your message to ${to}`,
    isCopy: true,
  }
}

/** The member `opened` that JSON adds to a message. */
export function readingJson(reading: Reading): object {
  if ('opened' in reading) return reading.opened
  return { error: { code: reading.error.reason, message: reading.error.message } }
}

/** One line about the seal and the signature of a message. */
export function verdict(reading: Reading): string {
  if ('error' in reading) return `NOT TO BE TRUSTED: ${reading.error.message}`
  const { opened, isExpected, kind, isCopy = false } = reading
  const parts = [opened.sealed ? 'sealed' : 'signed', isCopy ? 'by this agent' : signatureOf(opened, isExpected)]
  return [...parts, ...(kind === undefined ? [] : [kind])].join(', ')
}

function signatureOf({ verified }: Opened, isExpected: boolean): string {
  if (verified) return 'signature verified'
  return isExpected
    ? 'sender according to the service, signature not checked (--verify)'
    : 'from a sender that --verify does not name'
}

/** `verdict` as a line below its message. */
export function verdictLine(reading: Reading, withId = false): Line {
  const id = withId && 'opened' in reading ? reading.opened.sender?.agentId : undefined
  const text = indented(`[${verdict(reading)}${id === undefined ? '' : `, ${id}`}]`)
  if ('error' in reading) return { text, style: 'bad' }
  return { text, style: reading.opened.verified ? 'good' : 'faint' }
}

/** The body as text. Empty if the message could not be opened or verified. */
export function readingText(reading: Reading): string {
  return 'opened' in reading ? bodyText(reading.opened.body) : ''
}

function refusalOf({ envelope: { id, from } }: Message, { opened, isExpected }: Opening): VerificationError {
  if (isExpected)
    return new VerificationError('unknown_sender', `no key is known for ${from}: --verify its name or key`)
  const who = opened.sender === undefined ? from : `${from} (${opened.sender.agentId})`
  return new VerificationError('wrong_key', `the message ${id} is from ${who}, which --verify does not name`)
}

function isPublicKey(text: string): boolean {
  return text.includes(':') && !text.includes('@')
}

function collect(value: string, earlier: string[]): string[] {
  if (isPublicKey(value) && parsePublicKey(value) === undefined) {
    throw new InvalidArgumentError('A public key must be ed25519:<64 hex digits>.')
  }
  return [...earlier, nameOrId(value)]
}
