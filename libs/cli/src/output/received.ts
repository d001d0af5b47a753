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

/** Senders that the user has named. Their signatures are checked, and their names are shown. */
export interface KnownSenders {
  /** Undefined if the agent was not named. */
  nameOf(agentId: string): string | undefined
}

export function addVerifyOption(command: Command): Command {
  const description = 'check the signatures of this sender, given by name or public key; may be repeated'
  return command.option('--verify <name-or-pubkey>', description, collect, [])
}

/** Adds the keys of these senders to the client. A name is looked up at the service; a public key is used as given. */
export async function learnSenders(
  { signal }: Context,
  client: AgentClient,
  senders: readonly string[],
): Promise<KnownSenders> {
  const names = new Map<string, string>()
  for (const sender of senders) {
    if (sender.includes(':')) client.trust(sender)
    else names.set((await client.lookup(sender, { signal })).agent_id, sender)
  }
  if (client.key !== undefined) names.set(client.key.agentId, names.get(client.key.agentId) ?? 'you')
  return { nameOf: (agentId) => names.get(agentId) }
}

/** The result of opening a message. Lists also show messages that could not be opened. */
type Reading =
  | {
      readonly opened: Opened
      /** What it is, if it is not a message for this agent: a post on a board, or a copy of what this agent sent. */
      readonly kind?: string
      readonly isCopy?: boolean
    }
  | { readonly error: VerificationError }

interface ReadOptions {
  readonly allowUnverified: boolean
  /** `board:<id>` of the board that a post was read from. If absent, the message must be for this agent. */
  readonly board?: string | undefined
}

export async function readMessage(
  client: AgentClient,
  message: Message,
  { allowUnverified, board }: ReadOptions,
): Promise<Reading> {
  try {
    return { opened: await client.open(message, { allowUnverified, to: board }) }
  } catch (error) {
    if (error instanceof VerificationError) return { error }
    throw error
  }
}

/** Reads a message that came as an event, or was asked for by its id. Of a post, only its `to` says on which board it is. */
export async function readAnywhere(client: AgentClient, message: Message, allowUnverified: boolean): Promise<Reading> {
  const { lane, envelope } = message
  const board = lane === 'board' && envelope.to.startsWith('board:') ? envelope.to : undefined
  const reading = await readMessage(client, message, { allowUnverified, board })
  return board === undefined || 'error' in reading ? reading : { ...reading, kind: `a post on ${board}` }
}

/** Reads a message that the user asked for by its id: also a copy of one that this agent sent to another. */
export async function readNamed(client: AgentClient, message: Message, allowUnverified: boolean): Promise<Reading> {
  const { from, to } = message.envelope
  const reading = await readAnywhere(client, message, allowUnverified)
  const isCopy = 'error' in reading && reading.error.reason === 'addressed_to_another' && from === client.key?.agentId
  if (!isCopy) return reading
  // Only this agent can have signed it. It is still no message to this agent, so it does not count as verified.
  const opened = await client.open(message, { to })
  return { opened: { ...opened, verified: false }, kind: `a copy of your message to ${to}`, isCopy }
}

/** The member `opened` that `--json` adds to a message. */
export function readingJson(reading: Reading): object {
  if ('opened' in reading) return reading.opened
  return { error: { code: reading.error.reason, message: reading.error.message } }
}

/** One line about the seal and the signature of a message. */
export function verdict(reading: Reading): string {
  if ('error' in reading) return `NOT TO BE TRUSTED: ${reading.error.message}`
  const { opened, kind, isCopy = false } = reading
  const parts = [opened.sealed ? 'sealed' : 'signed', isCopy ? 'by this agent' : signatureOf(opened)]
  return [...parts, ...(kind === undefined ? [] : [kind])].join(', ')
}

function signatureOf({ verified }: Opened): string {
  return verified ? 'signature verified' : 'sender according to the service, signature not checked (--verify)'
}

/** `verdict` as a line below its message. */
export function verdictLine(reading: Reading): Line {
  const text = indented(`[${verdict(reading)}]`)
  if ('error' in reading) return { text, style: 'bad' }
  return { text, style: reading.opened.verified ? 'good' : 'faint' }
}

/** The body as text. Empty if the message could not be opened or verified. */
export function readingText(reading: Reading): string {
  return 'opened' in reading ? bodyText(reading.opened.body) : ''
}

function collect(value: string, earlier: string[]): string[] {
  if (value.includes(':') && parsePublicKey(value) === undefined) {
    throw new InvalidArgumentError('A public key must be ed25519:<64 hex digits>.')
  }
  return [...earlier, nameOrId(value)]
}
