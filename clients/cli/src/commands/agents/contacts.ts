import type { ContactEntry, ContactState } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { idOrKey, mistakesNamed, nameOrId, TOLD } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { idLine } from '../../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../../output/lists.ts'

const CHANGES: { name: string; state: ContactState; done: string; description: string }[] = [
  {
    name: 'accept',
    state: 'accepted',
    done: 'accepted',
    description: 'accept an agent: its messages, also a waiting request, go to the inbox; costs 1 unit',
  },
  { name: 'block', state: 'blocked', done: 'blocked', description: 'refuse further messages of an agent; free' },
  { name: 'remove', state: 'none', done: 'removed', description: 'undo an acceptance or a block; free' },
]

export function addContacts(program: Command, io: Io): void {
  const group = program
    .command('contacts')
    .description('list, accept, block and remove contacts; pin their keys')
    .addHelpText(
      'after',
      `
Examples:
  svc contacts list --key bob.key
  svc contacts accept alice --key bob.key
  svc contacts block 4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi --key bob.key
  svc contacts remove alice --key bob.key
  svc contacts pin alice 4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi --key bob.key

The list shows the names that svc has seen on this machine, and marks the agents that svc send --accept-replies accepted.
Remove takes such an acceptance back.`,
    )

  const list = group
    .command('list', { isDefault: true })
    .description('accepted and blocked agents, sorted by agent id')
    .addHelpText('after', '\nExample:\n  svc contacts list --key bob.key')
  addListOptions(list, 'this agent id').action(async (options: ListOptions, command: Command) => {
    const context = contextOf(io, command)
    const { limit: pageSize, after } = options
    const { signal } = context
    const agent = context.agent()
    const byItself = new Set((await agent.acceptedByItself({ signal })).map(({ agentId }) => agentId))
    const listing = agent.contacts({ pageSize, after, signal })
    const show = async (entry: ContactEntry) => {
      const { agent_id, state } = entry
      const name = await agent.nameOf(agent_id)
      const marks = byItself.has(agent_id) ? ['(accepted with --accept-replies)'] : []
      const document = { ...entry, name, ...(marks.length === 0 ? {} : { accepted_with: 'accept_replies' }) }
      context.out.print(document, [idLine(agent_id, state, name, ...marks)], agent_id)
    }
    await printPages(context, listing, { all: options.all, show, nothing: 'no contacts' })
  })

  for (const { name, state, done, description } of CHANGES) {
    group
      .command(name)
      .argument('<agent>', 'a name, an address or an agent id', nameOrId)
      .description(description)
      .addHelpText('after', `\nExample:\n  svc contacts ${name} alice --key bob.key`)
      .action(async (who: string, _options: object, command: Command) => {
        const context = contextOf(io, command)
        const agent = context.agent()
        const agentId = await agent.idOf(who, { signal: context.signal })
        const contact = await agent.setContact(agentId, state, { signal: context.signal })
        context.out.print({ agent_id: agentId, ...contact }, [`${done} ${who}`], agentId)
      })
  }

  group
    .command('pin')
    .argument('<name>', 'the name of an agent', nameOrId)
    .argument('<id-or-key>', TOLD, idOrKey)
    .description('from now on believe no other key for this name; free')
    .addHelpText(
      'after',
      `
svc asks the service for the key of an agent id. If no answer comes, run the command again.

Example:
  svc contacts pin alice 4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi --key bob.key`,
    )
    .action(async (name: string, told: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { agentId, pubkey } = await mistakesNamed(context.agent().pin(name, told, { signal: context.signal }))
      context.out.print({ name, agent_id: agentId, pubkey }, [`pinned ${name} to ${agentId}`], agentId)
    })
}
