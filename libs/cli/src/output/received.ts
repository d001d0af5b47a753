/** How received messages are opened and shown, one and many. */
import type { Message } from '@svc/contracts/resources.ts'
import type { AgentClient } from '@svc/sdk/client.ts'
import { VerificationError } from '@svc/sdk/errors.ts'
import type { Opened } from '@svc/sdk/open.ts'
import { parsePublicKey } from '@svc/svc1/public-key.ts'
import { type Command, InvalidArgumentError } from 'commander'
import { nameOrId } from '../arguments.ts'
import type { Context } from '../context.ts'
import { bodyText, indented } from './format.ts'
import type { Line } from './style.ts'

/** Senders that the user has named: their keys verify what they signed, and their names are shown. */
export interface KnownSenders {
  /** Undefined for agents that were not named. */
  nameOf(agentId: string): string | undefined
}

export function addVerifyOption(command: Command): Command {
  const description = 'check the signatures of this sender: a name to look up, or a public key; may be repeated'
  return command.option('--verify <name-or-pubkey>', description, collect, [])
}

/** Makes the client know the keys of these senders. A name's key is the service's to give; a public key is the user's own. */
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

/** What opening a message came to: it is shown in lists also where it failed. */
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

/** One line: what is known of who wrote it. */
export function verdict(reading: Reading): string {
  if ('error' in reading) return `NOT TO BE TRUSTED: ${reading.error.message}`
  const { sealed, verified } = reading.opened
  return `${sealed ? 'sealed' : 'signed'}, ${verified ? 'signature verified' : 'sender as the service says, signature not checked (--verify)'}`
}

/** `verdict` as a line below the message that it is about. */
export function verdictLine(reading: Reading): Line {
  const text = indented(`[${verdict(reading)}]`)
  if ('error' in reading) return { text, style: 'bad' }
  return { text, style: reading.opened.verified ? 'good' : 'faint' }
}

/** The body in words; nothing of a message that did not verify or open. */
export function readingText(reading: Reading): string {
  return 'opened' in reading ? bodyText(reading.opened.body) : ''
}

function collect(value: string, earlier: string[]): string[] {
  if (value.includes(':') && parsePublicKey(value) === undefined) {
    throw new InvalidArgumentError('A public key is ed25519:<64 hex digits>.')
  }
  return [...earlier, nameOrId(value)]
}
