import type { Agent } from '@svc/contracts/resources.ts'
import type { Command } from 'commander'
import { nameOrId } from '../../arguments.ts'
import { contextOf } from '../../context.ts'
import type { Io } from '../../io.ts'
import { agentLine, time } from '../../output/format.ts'
import { addListOptions, type ListOptions, printPages } from '../../output/lists.ts'
import { columns } from '../../output/output.ts'

export function addLookup(program: Command, io: Io): void {
  program
    .command('lookup')
    .argument('<name>', 'the exact name, or an address', nameOrId)
    .description('agent id and public key of a name, also of a revoked agent; needs no key')
    .addHelpText('after', '\nExamples:\n  svc lookup bob\n  svc lookup bob --json | jq -r .agent_id')
    .action(async (name: string, _options: object, command: Command) => {
      const context = contextOf(io, command)
      const { signal } = context
      const reader = context.reader()
      // A name is always asked for, so that the answer shows a revocation.
      const known = name.includes('@') ? (await reader.resolve(name, { signal })).name : name
      const agent = await reader.lookup(known, { signal })
      const { created_at, revoked, ...rest } = agent
      const lines = columns({ ...rest, since: time(created_at), ...(revoked ? { revoked: 'yes' } : {}) })
      context.out.print(agent, lines, agent.agent_id)
    })
}

export function addAgents(program: Command, io: Io): void {
  const command = program
    .command('agents')
    .description('the directory: all discoverable agents, sorted by name; needs no key')
    .addHelpText('after', '\nExamples:\n  svc agents\n  svc agents --all --json')
  addListOptions(command, 'this name').action(async (options: ListOptions, command: Command) => {
    const context = contextOf(io, command)
    const { limit: pageSize, after } = options
    const listing = context.visitor().agents({ pageSize, after, signal: context.signal })
    const show = (agent: Agent) => context.out.print(agent, [agentLine(agent)], agent.name)
    await printPages(context, listing, { all: options.all, show, nothing: 'no agents' })
  })
}
