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
type Reading = { readonly opened: Opened } | { readonly error: VerificationError }

export async function readMessage(client: AgentClient, message: Message, allowUnverified: boolean): Promise<Reading> {
  try {
    return { opened: await client.open(message, { allowUnverified }) }
  } catch (error) {
    if (error instanceof VerificationError) return { error }
    throw error
  }
}

/** The member `opened` that `--json` adds to a message. */
export function readingJson(reading: Reading): object {
  if ('opened' in reading) return reading.opened
  return { error: { code: reading.error.reason, message: reading.error.message } }
}

/** One line about the seal and the signature of a message. */
export function verdict(reading: Reading): string {
  if ('error' in reading) return `NOT TO BE TRUSTED: ${reading.error.message}`
  const { sealed, verified } = reading.opened
  return `${sealed ? 'sealed' : 'signed'}, ${verified ? 'signature verified' : 'sender according to the service, signature not checked (--verify)'}`
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
