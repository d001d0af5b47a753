import type { ContactState } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { agentIdOf, contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
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
    .description('list, accept, block and remove contacts')
    .addHelpText(
      'after',
      `
Examples:
  svc contacts list --key bob.key
  svc contacts accept alice --key bob.key
  svc contacts block 4vJ9JU1bJJE96FWSJKvHsmmFADCg4gpZQff4P3bkLKi --key bob.key
  svc contacts remove alice --key bob.key`,
    )

  const list = group
    .command('list', { isDefault: true })
    .description('accepted and blocked agents, sorted by agent id')
    .addHelpText('after', '\nExample:\n  svc contacts list --key bob.key')
  addListOptions(list, 'this agent id').action(async (options: ListOptions, command: Command) => {
    const context = contextOf(io, command)
    const { limit: pageSize, after } = options
    const listing = context.agent().contacts({ pageSize, after, signal: context.signal })
    const show = (entry: { agent_id: string; state: string }) =>
      context.out.print(entry, [`${entry.agent_id}  ${entry.state}`], entry.agent_id)
    await printPages(context, listing, { all: options.all, show, nothing: 'no contacts' })
  })

  for (const { name, state, done, description } of CHANGES) {
    group
      .command(name)
      .argument('<agent>', 'a name, or an agent id', nameOrId)
      .description(description)
      .addHelpText('after', `\nExample:\n  svc contacts ${name} alice --key bob.key`)
      .action(async (who: string, _options: object, command: Command) => {
        const context = contextOf(io, command)
        const agent = context.agent()
        const agentId = await agentIdOf(who, agent, context.signal)
        const contact = await agent.setContact(agentId, state, { signal: context.signal })
        context.out.print({ agent_id: agentId, ...contact }, [`${done} ${who}`], agentId)
      })
  }
}
